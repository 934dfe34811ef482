"""Nemotron 3 Diarization (NVIDIA 2026). Source: transformers/models/nemotron3_diarization. An
encoder of frames (a trace), and a head that is active or not for each speaker."""

from ..layers.blocks import size
from ..trees import Component, ModelConfig, builder, register_pair
from ..trees.modules import Activation, Conv, Linear, Module, Weight

_NAME = "Nemotron3Diarization"
_ENDING = "ForAudioFrameClassification"
_heard = size("hidden_size", default=512)
_width = size("hidden_size", default=192)


def model(c: ModelConfig) -> Module:
    head = c.section("head_config")
    audio = c.section("audio_config")
    heard = _heard(audio)
    width = _width(head)
    if (own_width := head.dim("audio_hidden_size", default=512)) != heard:
        raise head.error("audio_hidden_size", int(own_width), f"{int(heard)}")
    conv = Conv(width, head.dim("subsampling_factor", default=8) * width, 3, dims=1)
    return Module(
        f"{_NAME}Model",
        audio_tower=builder(f"{_NAME}AudioModel")(audio),
        proj=Linear(heard, width, component=Component.PROJECTOR),
        upsampler=Module(f"{_NAME}SubpixelUpsampler", conv=conv),
        part="audio",
    )


def frames(c: ModelConfig) -> Module:
    width = _width(head := c.section("head_config"))
    speakers = head.dim("num_speakers", default=8)
    parts = {"dense": Linear(width, width), "out_proj": Linear(width, speakers)}
    parts["act_fn"] = Activation("ReLU")
    return Module(
        f"{_NAME}{_ENDING}",
        model=model(c),
        classifier=Module(f"{_NAME}ClassificationHead", parts, component=Component.HEAD),
        silence_embeds=Weight(_heard(c.section("audio_config")), component=Component.EMBEDDING),
        part="audio",
    )


register_pair("nemotron3_diarization", _NAME, frames, model, "audio", ending=_ENDING)
