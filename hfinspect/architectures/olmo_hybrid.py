"""OLMo Hybrid (AI2 2026). Source of shapes: transformers/models/olmo_hybrid; names of files:
transformers/conversion_mapping.py.

Three layers in four mix with a gated delta net, the fourth with OLMo 2's attention (norms over the
whole of q and of k, norms after the blocks).  In memory the three short convolutions are one; a
fresh save cuts it in three of equal size, whatever the widths of q, k and v are.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads, layer_types
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.keeps import State
from ..trees.modules import Conv, Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=3840)


def _norm(c: ModelConfig, size: int) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(size, eps=eps, class_name="OlmoHybridRMSNorm")


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=30)
    return grouped_attention(
        "OlmoHybridAttention",
        h,
        heads,
        bias=c.flag("attention_bias", default=False),
        norms=lambda: {
            "q_norm": _norm(c, heads.query * heads.dim),
            "k_norm": _norm(c, heads.kv * heads.dim),
        },
    )


def delta_net(c: ModelConfig) -> Module:
    h, usual = _hidden(c), c.dim("num_attention_heads", default=30)
    key_heads = c.dim("linear_num_key_heads", default=usual)
    heads = c.dim("linear_num_value_heads", default=usual)
    width = int(0.75 * int(h) / int(key_heads))
    key_dim = c.dim(
        "linear_key_head_dim",
        default=named(width, "linear_key_head_dim", "int(0.75 · hidden_size / key heads)"),
    )
    value_dim = c.dim("linear_value_head_dim", default=2 * key_dim)
    key, value = key_dim * key_heads, value_dim * heads
    kernel = c.dim("linear_conv_kernel_dim", default=4)
    convolved = key * 2 + value
    third = -(-int(convolved) // 3)
    sizes = [
        named(max(min(third, int(convolved) - i * third), 0), "third", "a third of the channels")
        for i in range(3)
    ]
    first, second, last = (
        Conv(size, size, kernel, dims=1, groups=size, bias=False, component=None) if size else None
        for size in sizes
    )
    return Module(
        "OlmoHybridGatedDeltaNet",
        q_proj=Linear(h, key, bias=False, kind="query"),
        k_proj=Linear(h, key, bias=False, kind="key"),
        v_proj=Linear(h, value, bias=False, kind="value"),
        a_proj=Linear(h, heads, bias=False),
        b_proj=Linear(h, heads, bias=False),
        g_proj=Linear(h, value, bias=False, kind="gate"),
        o_proj=Linear(value, h, bias=False, kind="output"),
        q_conv1d=first,
        k_conv1d=second,
        v_conv1d=last,
        A_log=Weight(heads),
        dt_bias=Weight(heads),
        o_norm=RMSNorm(value_dim, eps=1e-5, class_name="OlmoHybridRMSNormGated"),
        component=Component.SSM,
        keeps=(State("recurrent", (value, key_dim), "F32"),),
    )


def layer(c: ModelConfig, kind: str) -> Module:
    h = _hidden(c)
    mlp = gated_mlp(
        "OlmoHybridMLP",
        h,
        c.dim("intermediate_size", default=11008),
        act=c.text("hidden_act", default="silu"),
    )
    if kind == "linear_attention":
        return Module(
            "OlmoHybridLinearAttentionDecoderLayer",
            mlp=mlp,
            attention_layer_norm=_norm(c, h),
            feedforward_layer_norm=_norm(c, h),
            linear_attn=delta_net(c),
        )
    return Module(
        "OlmoHybridAttentionDecoderLayer",
        self_attn=attention(c),
        mlp=mlp,
        feedforward_layer_norm=_norm(c, h),
        post_feedforward_layernorm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers", default=32))

    def usual(i: int) -> str:
        # With fewer than four layers, the last is the one with attention.
        return "full_attention" if i % 4 == 3 or (count < 4 and i == count - 1) else (
            "linear_attention"
        )  # fmt: skip

    types = layer_types(c, count, usual)
    distinct = {kind: layer(c, kind) for kind in dict.fromkeys(types)}
    return Module(
        "OlmoHybridModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=100352), _hidden(c)),
        layers=Layers(distinct[kind] for kind in types),
        norm=_norm(c, _hidden(c)),
    )


register(
    "olmo_hybrid",
    decoder_classes("OlmoHybrid", model, heads=()),
    base="OlmoHybridModel",
    base_prefix="model",
    category="text decoder",
)
