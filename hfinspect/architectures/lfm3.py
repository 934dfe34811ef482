"""LFM3 (Liquid AI 2026). Source of shapes: transformers/models/lfm3; names of files:
transformers/conversion_mapping.py.

Short convolutions, sliding and full attention by layer_types; norms before and after each block
and a gate per head, unless switched off.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import grouped_attention, grouped_heads, layer_types
from ..layers.heads import decoder_classes
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Activation, Conv, Embedding, Layers, Linear, Module, RMSNorm

KINDS = ("conv", "full_attention", "sliding_attention")


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig, size: int) -> Module:
    eps = c.number("norm_eps", "rms_norm_eps", default=1e-5)
    return RMSNorm(size, eps=eps, class_name="Lfm3RMSNorm")


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=16, kv=4, head_dim=128)
    block = grouped_attention(
        "Lfm3Attention",
        h,
        heads,
        bias=c.flag("attention_bias", default=False),
        norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
    )
    if c.flag("use_attention_gate", default=True):
        block.children["gate_proj"] = Linear(h, heads.query, bias=False, kind="gate")
    return block


def convolution(c: ModelConfig) -> Module:
    h, bias = _hidden(c), c.flag("conv_bias", default=False)
    kernel = c.dim("conv_L_cache", default=7)
    return Module(
        "Lfm3ShortConv",
        conv=Conv(h, h, kernel, dims=1, groups=h, bias=bias),
        in_proj=Linear(h, 3 * h, bias=bias),
        out_proj=Linear(h, h, bias=bias),
        component=Component.CONV,
    )


def layer(c: ModelConfig, kind: str) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=7680)
    after = c.flag("use_sandwich_norm", default=True)
    return Module(
        "Lfm3DecoderLayer",
        self_attn=None if kind == "conv" else attention(c),
        conv=convolution(c) if kind == "conv" else None,
        feed_forward=Module(
            "Lfm3MLP",
            w1=Linear(h, inner, bias=False, kind="gate"),
            w3=Linear(h, inner, bias=False, kind="up"),
            w2=Linear(inner, h, bias=False, kind="down"),
            component=Component.MLP,
        ),
        operator_norm=_norm(c, h),
        ffn_norm=_norm(c, h),
        post_operator_norm=_norm(c, h) if after else Activation("Identity"),
        post_ffn_norm=_norm(c, h) if after else Activation("Identity"),
    )


def _usual(i: int) -> str:
    if i % 4 == 2:
        return "full_attention"
    return "sliding_attention" if i % 4 == 0 and i else "conv"


def model(c: ModelConfig) -> Module:
    kinds = layer_types(c, c.count("num_hidden_layers", default=24), _usual)
    for kind in kinds:
        if kind not in KINDS:
            raise c.error("layer_types", kind, " or ".join(KINDS))
    distinct = {kind: layer(c, kind) for kind in dict.fromkeys(kinds)}
    return Module(
        "Lfm3Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=128000), _hidden(c)),
        layers=Layers(
            (distinct[kind] for kind in kinds),
            windows=windows(c, 256, lambda i, _: i % 4 != 0 or i == 0),
        ),
        embedding_norm=_norm(c, _hidden(c)),
    )


register(
    "lfm3",
    decoder_classes("Lfm3", model, heads=(), tied_default=True),
    base="Lfm3Model",
    base_prefix="model",
    category="text decoder",
)
