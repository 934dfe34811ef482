"""Nemotron 3 Diarization (NVIDIA 2026). Source: transformers/models/nemotron3_diarization.

Stacked frames of a spectrogram, a plain encoder with rotary positions, and a head that is active or
not for each speaker. The encoder is also that of Nemotron 3.5 Transcribe, with norms of q and k.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.vision import plain_mlp
from ..trees.catalog import register_pair, register_part
from ..trees.modules import Activation, Conv, LayerNorm, Layers, Linear, Module, Weight


def layer(c: ModelConfig, name: str, h: Dim, inner: Dim, heads: int, *, normed: bool) -> Module:
    """Keys may have fewer heads; values have as many as queries."""
    query = c.dim("num_attention_heads", default=heads)
    groups = c.dim("num_key_value_heads", default=query)
    head = c.dim("head_dim", default=c.divided(h, query, "head", "num_attention_heads"))
    norms = {at: LayerNorm(head) for at in ("q_norm", "k_norm")} if normed else {}
    attention = Module(
        f"{name}Attention",
        {
            "q_proj": Linear(h, query * head, bias=False, kind="query"),
            "k_proj": Linear(h, groups * head, bias=False, kind="key"),
            "v_proj": Linear(h, query * head, bias=False, kind="value"),
            "o_proj": Linear(query * head, h, kind="output"),
            **norms,
        },
        component=Component.ATTENTION,
    )
    return Module(
        f"{name}{'AsrAudio' if normed else 'Audio'}Layer",
        self_attn=attention,
        layer_norm1=LayerNorm(h),
        mlp=plain_mlp(f"{name}MLP", h, inner, act=c.text("hidden_act", default="gelu")),
        layer_norm2=LayerNorm(h),
    )


def stack(c: ModelConfig, name: str, h: Dim, block: Module, depth: int) -> dict[str, Module]:
    """Layers between two norms."""
    return {
        "input_layer_norm": LayerNorm(h),
        "layers": Layers.of(c.count("num_hidden_layers", default=depth), block),
        "layer_norm": LayerNorm(h),
        "rotary_emb": Activation(f"{name}RotaryEmbedding"),
    }


def embedder(c: ModelConfig, name: str, h: Dim) -> Module:
    stacked = c.dim("subsampling_factor", default=8) * c.dim("num_mel_bins", default=128)
    projection = Linear(stacked, h, bias=False)
    return Module(f"{name}FeatureStacking", projection=projection, component=Component.EMBEDDING)


def audio_model(c: ModelConfig) -> Module:
    name, h = "Nemotron3Diarization", c.dim("hidden_size", default=512)
    block = layer(c, name, h, c.dim("intermediate_size", default=2048), 8, normed=False)
    parts = {"embedder": embedder(c, name, h), **stack(c, name, h, block, 31)}
    return Module(f"{name}AudioModel", dict(parts), part="audio")


def model(c: ModelConfig) -> Module:
    head = c.section("head_config")
    heard = c.section("audio_config").dim("hidden_size", default=512)
    if head.dim("audio_hidden_size", default=512) != heard:
        raise head.error("audio_hidden_size", head.raw("audio_hidden_size"), f"{int(heard)}")
    width, factor = head.dim("hidden_size", default=192), head.dim("subsampling_factor", default=8)
    return Module(
        "Nemotron3DiarizationModel",
        audio_tower=audio_model(c.section("audio_config")),
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


register_part("nemotron3_diarization_audio", "Nemotron3DiarizationAudioModel", audio_model, "audio")
register_pair(
    "nemotron3_diarization", "Nemotron3Diarization", frames, model, "audio",
    ending="ForAudioFrameClassification",
)  # fmt: skip
