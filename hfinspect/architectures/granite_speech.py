"""Granite Speech (IBM 2025). Source: transformers/models/granite_speech/modeling_granite_speech.py.

A conformer whose middle layer also predicts letters, a Q-Former that makes a few vectors of each
window of frames, and a Granite decoder.  The adapter that released models load for speech is in a
file of its own (adapter_model.safetensors), not in the checkpoint.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.multimodal import decoder, language_model, register_headed
from ..trees.catalog import auto_model
from ..trees.modules import (
    Activation,
    BatchNorm,
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Weight,
)

_NAME = "GraniteSpeech"


# ---- conformer


_width = size("hidden_dim", "hidden_size", default=1024)


def forward(c: ModelConfig) -> Module:
    d = _width(c)
    inner = d * c.dim("feedforward_mult", default=4)
    return Module(
        f"{_NAME}ConformerFeedForward",
        pre_norm=LayerNorm(d),
        up_proj=Linear(d, inner, kind="up"),
        silu=Activation("SiLU"),
        down_proj=Linear(inner, d, kind="down"),
        component=Component.MLP,
    )


def attention(c: ModelConfig) -> Module:
    d, heads = _width(c), c.dim("num_heads", "num_attention_heads", default=8)
    head = c.dim("dim_head", default=d // heads)
    inner, reach = heads * head, c.dim("max_pos_emb", default=512)
    return Module(
        f"{_NAME}ConformerAttention",
        pre_norm=LayerNorm(d),
        to_q=Linear(d, inner, bias=False, kind="query"),
        to_kv=Linear(d, inner * 2, bias=False, kind="key_value"),
        to_out=Linear(inner, d, kind="output"),
        rel_pos_emb=Embedding(2 * reach + 1, head, component=None, kind="relative_position"),
        component=Component.ATTENTION,
    )


def convolution(c: ModelConfig) -> Module:
    d, kernel = _width(c), c.dim("conv_kernel_size", default=15)
    inner = d * c.dim("conv_expansion_factor", default=2)
    depthwise = Conv(inner, inner, kernel, dims=1, groups=int(inner), bias=False)
    return Module(
        f"{_NAME}ConformerConvModule",
        norm=LayerNorm(d),
        up_conv=Conv(d, inner * 2, 1, dims=1),
        glu=Activation("GLU"),
        depth_conv=Module(f"{_NAME}ConformerDepthWiseConv1d", conv=depthwise),
        silu=Activation("SiLU"),
        batch_norm=BatchNorm(inner, dims=1),
        down_conv=Conv(inner, d, 1, dims=1),
        component=Component.CONV,
    )


def encoder(c: ModelConfig) -> Module:
    d, out = _width(c), c.dim("output_dim", default=42)
    seen = c.dim("input_dim", "num_mel_bins", default=160)
    block = Module(
        f"{_NAME}ConformerBlock",
        ff1=forward(c),
        attn=attention(c),
        conv=convolution(c),
        ff2=forward(c),
        post_norm=LayerNorm(d),
    )
    return Module(
        f"{_NAME}CTCEncoder",
        input_linear=Linear(seen, d, component=Component.EMBEDDING),
        layers=Layers.of(c.count("num_layers", "num_hidden_layers", default=10), block),
        out=Linear(d, out, component=Component.HEAD),
        out_mid=Linear(out, d, component=Component.PROJECTOR),
        part="audio",
    )


# ---- together


def projecting(module: Module) -> Module:
    """All matrices below count as the projector's, whatever they do inside of it."""
    if module.component in (Component.ATTENTION, Component.MLP):
        module.component = Component.PROJECTOR
    for child in module.children.values():
        if isinstance(child, Module):
            projecting(child)
    return module


def projector(c: ModelConfig, hidden: Dim) -> Module:
    section = c.section("projector_config")
    width = section.dim("hidden_size", default=768)
    queries = c.dim("window_size", default=15) // c.dim("downsample_rate", default=5)
    return Module(
        f"{_NAME}EncoderProjector",
        query=Weight(1, queries, width),
        qformer=projecting(auto_model(section, default_type="blip_2_qformer")),
        linear=Linear(width, hidden),
        component=Component.PROJECTOR,
        part="projector",
    )


def parts(c: ModelConfig, head: bool) -> dict[str, Module]:
    text = decoder(c, "granite")
    return {
        "encoder": encoder(c.section("encoder_config")),
        "projector": projector(c, text.hidden),
        "language_model": language_model(text, head=head, tied=c.tied(default=True)),
    }


register_headed("granite_speech", _NAME, parts, "encoder", "projector")
