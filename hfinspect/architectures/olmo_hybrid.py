"""OLMo Hybrid (AI2 2026; transformers/models/olmo_hybrid); names of files: conversion_mapping.py.
The three short convolutions are one in memory; a fresh save cuts it in three of equal size,
whatever the widths of q, k and v are."""

from ..layers.blocks import depthwise
from ..layers.decoders import Decoder
from ..layers.layer_kinds import words
from ..trees import Component, Linear, ModelConfig, Module, RMSNorm, State, Weight, named


def _delta_net(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    usual = c.dim("num_attention_heads", default=30)
    key_heads = c.dim("linear_num_key_heads", default=usual)
    heads = c.dim("linear_num_value_heads", default=usual)
    width = int(0.75 * int(h) / int(key_heads))
    how = "int(0.75 · hidden_size / key heads)"
    key_dim = c.dim("linear_key_head_dim", default=named(width, "linear_key_head_dim", how))
    value_dim = c.dim("linear_value_head_dim", default=2 * key_dim)
    key = key_dim * key_heads
    value = value_dim * heads
    kernel = c.dim("linear_conv_kernel_dim", default=4)
    channels = int(key * 2 + value)
    third = -(-channels // 3)
    sizes = {"q": third, "k": third, "v": channels - 2 * third}
    widths = {"q": key, "k": key, "v": value, "a": heads, "b": heads, "g": value}
    kinds = {"q": "query", "k": "key", "v": "value", "g": "gate"}
    return Module(
        "OlmoHybridGatedDeltaNet",
        {
            **{f"{x}_proj": Linear(h, widths[x], False, kind=kinds.get(x)) for x in widths},
            "o_proj": Linear(value, h, bias=False, kind="output"),
            **{
                f"{name}_conv1d": depthwise(named(size, "third", "a third of the channels"), kernel)
                for name, size in sizes.items()
                if size > 0
            },
            "A_log": Weight(heads),
            "dt_bias": Weight(heads),
            "o_norm": RMSNorm(value_dim, eps=1e-5, class_name="OlmoHybridRMSNormGated"),
        },
        component=Component.SSM,
        cache=(State("recurrent", (value, key_dim), "F32"),),
    )


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    linear = kind == "linear_attention"
    norm_name = "attention_layer_norm" if linear else "post_feedforward_layernorm"
    attention = None if linear else d.attention(d, c)
    name = "Linear" if linear else ""
    block = Module(f"OlmoHybrid{name}AttentionDecoderLayer", self_attn=attention, mlp=d.mlp(d, c))
    block.adding(**d.norms(c, *sorted(("feedforward_layer_norm", norm_name))))
    return block.adding(linear_attn=_delta_net(d, c) if linear else None)


def _usual(c: ModelConfig, i: int) -> str:
    """With fewer than four layers, the last is the one with attention."""
    last = min(int(c.count("num_hidden_layers", default=32)) - 1, 3)
    return "full_attention" if i % 4 == 3 or i == last else "linear_attention"


Decoder(
    "OlmoHybrid",
    qk_norm=True,
    whole_norm=True,
    rotary=False,
    tasks=(),
    layer=_layer,
    kinds=words(_usual),
).register("olmo_hybrid")
