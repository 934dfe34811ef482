"""Nemotron 3 Diarization (NVIDIA 2026). Source: transformers/models/nemotron3_diarization.

Stacked frames of a spectrogram, a plain encoder with rotary positions (a trace), and a head that is
active or not for each speaker.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..trees.catalog import builder, register_pair
from ..trees.modules import Activation, Conv, Linear, Module, Weight


def model(c: ModelConfig) -> Module:
    head = c.section("head_config")
    heard = c.section("audio_config").dim("hidden_size", default=512)
    if head.dim("audio_hidden_size", default=512) != heard:
        raise head.error("audio_hidden_size", head.raw("audio_hidden_size"), f"{int(heard)}")
    width, factor = head.dim("hidden_size", default=192), head.dim("subsampling_factor", default=8)
    return Module(
        "Nemotron3DiarizationModel",
        audio_tower=builder("Nemotron3DiarizationAudioModel")(c.section("audio_config")),
        proj=Linear(heard, width, component=Component.PROJECTOR),
        upsampler=Module(
            "Nemotron3DiarizationSubpixelUpsampler",
            conv=Conv(width, factor * width, 3, dims=1),
        ),
        part="audio",
    )


def frames(c: ModelConfig) -> Module:
    head = c.section("head_config")
    width, speakers = head.dim("hidden_size", default=192), head.dim("num_speakers", default=8)
    heard = c.section("audio_config").dim("hidden_size", default=512)
    return Module(
        "Nemotron3DiarizationForAudioFrameClassification",
        model=model(c),
        classifier=Module(
            "Nemotron3DiarizationClassificationHead",
            dense=Linear(width, width),
            out_proj=Linear(width, speakers),
            act_fn=Activation("ReLU"),
            component=Component.HEAD,
        ),
        silence_embeds=Weight(heard, component=Component.EMBEDDING),
        part="audio",
    )


register_pair(
    "nemotron3_diarization", "Nemotron3Diarization", frames, model, "audio",
    ending="ForAudioFrameClassification",
)  # fmt: skip
