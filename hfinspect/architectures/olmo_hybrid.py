"""OLMo Hybrid (AI2 2026). Source of shapes: transformers/models/olmo_hybrid; names of files:
transformers/conversion_mapping.py.

In memory the three short convolutions are one; a fresh save cuts it in three of equal size,
whatever the widths of q, k and v are.
"""

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import named
from ..layers.blocks import depthwise, layer_types
from ..layers.decoders import Decoder
from ..trees.keeps import State
from ..trees.modules import Linear, Module, RMSNorm, Weight
from .llama import LLAMA


def delta_net(d: Decoder, c: ModelConfig) -> Module:
    h, usual = d.width(c), c.dim("num_attention_heads", default=30)
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
    third = -(-int(key * 2 + value) // 3)
    sizes = (third, third, int(key * 2 + value) - 2 * third)
    convolutions = {
        f"{name}_conv1d": depthwise(named(size, "third", "a third of the channels"), kernel)
        for name, size in zip("qkv", sizes, strict=True)
        if size > 0
    }
    return Module(
        "OlmoHybridGatedDeltaNet",
        {
            "q_proj": Linear(h, key, bias=False, kind="query"),
            "k_proj": Linear(h, key, bias=False, kind="key"),
            "v_proj": Linear(h, value, bias=False, kind="value"),
            "a_proj": Linear(h, heads, bias=False),
            "b_proj": Linear(h, heads, bias=False),
            "g_proj": Linear(h, value, bias=False, kind="gate"),
            "o_proj": Linear(value, h, bias=False, kind="output"),
            **convolutions,
            "A_log": Weight(heads),
            "dt_bias": Weight(heads),
            "o_norm": RMSNorm(value_dim, eps=1e-5, class_name="OlmoHybridRMSNormGated"),
        },
        component=Component.SSM,
        keeps=(State("recurrent", (value, key_dim), "F32"),),
    )


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    linear = kind == "linear_attention"
    own = "attention_layer_norm" if linear else "post_feedforward_layernorm"
    norms = sorted(("feedforward_layer_norm", own))
    return Module(
        f"OlmoHybrid{'Linear' if linear else ''}AttentionDecoderLayer",
        {
            "self_attn": None if linear else d.attention(d, c),
            "mlp": d.mlp(d, c),
            **d.norms(c, *norms),
            "linear_attn": delta_net(d, c) if linear else None,
        },
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
    """With fewer than four layers, the last is the one with attention."""
    full = {*range(3, layers, 4), layers - 1 if layers < 4 else 3}
    return layer_types(c, layers, lambda i: "full_attention" if i in full else "linear_attention")


LLAMA.like(
    "OlmoHybrid", vocab_size=100352, hidden_size=3840, num_attention_heads=30, mlp_bias=None,
    qk_norm=True, whole_norm=True, rotary=False, endings=(), layer=_layer, kinds=_kinds,
).register("olmo_hybrid")  # fmt: skip
