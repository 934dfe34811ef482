"""HRM-Text (Sapient 2026; transformers/models/hrm_text); names of files: conversion_mapping.py.
Files hold gate, q, k and v in one, gate and up too (but their biases, if any, apart)."""

from collections.abc import Callable

from ..core.config import MAX_COUNT
from ..layers import named_decoder as s
from ..layers.blocks import activation, size
from ..trees import Activation, Component, Dim, KeysValues, Layers, ModelConfig
from ..trees.modules import Linear, Module, Weight


def _biases(size: int, *names: str) -> dict[str, Module]:
    """Biases that a save leaves under the names of the projections in memory."""
    return {f"{name}_proj": Module("Linear", bias=Weight(size)) for name in names}


def _layer(d: s.NamedDecoder, c: ModelConfig) -> Module:
    h = d.width(c)
    inner = c.dim("intermediate_size", default=4096)
    width = d.heads(c) * c.dim("head_dim", default=128)
    norm = Activation("HrmTextRMSNorm")
    bias = c.flag("attention_bias", default=False)
    biased = c.flag("mlp_bias", default=False)
    apart = Module("HrmTextAttention", _biases(width, "q", "k", "v", "gate"), cache=())
    apart.component = Component.ATTENTION
    return Module(
        "HrmTextDecoderLayer",
        attn=Module(
            "HrmTextAttention",
            gqkv_proj=Linear(h, width * 4, bias=False, kind="qkv"),
            o_proj=Linear(width, h, bias=bias, kind="output"),
            component=Component.ATTENTION,
            cache=(KeysValues(width, width),),
        ),
        self_attn=apart if bias else None,
        mlp=Module(
            "HrmTextMLP",
            gate_up_proj=Linear(h, inner * 2, bias=False, kind="gate_up"),
            down_proj=Linear(inner, h, bias=biased, kind="down"),
            act_fn=activation(c.text("hidden_act", default="silu")),
            component=Component.MLP,
        ).adding(**(_biases(inner, "gate", "up") if biased else {})),
        input_layernorm=norm,
        post_attention_layernorm=norm,
    )


def _stack(passes: Callable[[ModelConfig], Dim]) -> s.NamedPart:
    """``passes``: how often a token goes through, each time with keys and values of its own."""

    def build(d: s.NamedDecoder, c: ModelConfig) -> Module:
        layer = _layer(d, c)
        count = c.count("num_layers_per_stack", "num_hidden_layers", default=16)
        if passes(c) * count > MAX_COUNT:
            expected = f"at most {MAX_COUNT:,} layers on the way of a token"
            raise c.error("H_cycles", int(passes(c)), expected)
        layers = Layers([layer] * int(count), count=count, passes=int(passes(c)))
        return Module("HrmTextStack", layers=layers, final_norm=layer["input_layernorm"])

    return build


_SLOW = size("H_cycles", default=2)
_FAST = size("L_cycles", default=3)
s.NamedDecoder(
    "HrmText",
    width=size("hidden_size", default=1536),
    prefix="model",
    tied=False,
    heads=size("num_attention_heads", default=12),
    vocab=size("vocab_size", default=151808),
    model={
        "embed_tokens": s.words,
        "L_module": _stack(lambda c: _SLOW(c) * _FAST(c)),
        "H_module": _stack(_SLOW),
        "z_L_init": lambda d, c: Weight(d.width(c)),
    },
).register("hrm_text", heads=())
