"""Kolibri 1 (2026). Source of shapes: transformers/models/kolibri1; names of files:
transformers/conversion_mapping.py.

Norms on q and k, norms before and after each block; one shared and many routed experts in every
layer.  Files keep the router's correction bias, a buffer, apart from the router.
"""

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder
from ..layers.experts import router
from ..layers.layer_kinds import mixture
from ..layers.windows import every, windows
from ..trees.modules import Module, Parameter
from .llama import LLAMA


def _experts(c: ModelConfig) -> Dim:
    return c.count("num_experts", "num_local_experts", default=384)


def _moe(d: Decoder, c: ModelConfig) -> Module:
    inner, count = c.dim("moe_intermediate_size", default=512), _experts(c)
    return mixture(
        d, c, inner, count, c.dim("num_experts_per_tok", default=6),
        c.dim("shared_expert_intermediate_size", default=512),
        gate=router("Kolibri1TopKRouter", d.width(c), count), class_name="Kolibri1SparseMoeBlock",
    )  # fmt: skip


def _layer(d: Decoder, c: ModelConfig, _kind: str) -> Module:
    bias = Parameter((_experts(c),), role=Role.BUFFER, dtype="F32", component=Component.ROUTER)
    norms = ("input_layernorm", "post_attention_layernorm", "post_attn_norm", "post_ffn_norm")
    return Module(
        "Kolibri1DecoderLayer",
        {
            "self_attn": d.attention(d, c),
            "mlp": _moe(d, c),
            "moe": Module(
                "Kolibri1SparseMoeBlock", router=Module("Kolibri1TopKRouter", expert_bias=bias)
            ),
            **{name: d.norm(d, c, d.width(c)) for name in norms},
        },
    )


LLAMA.like(
    "Kolibri1", vocab_size=128000, hidden_size=2560, num_hidden_layers=50, num_attention_heads=48,
    num_key_value_heads=4, head_dim=128, attention_bias=None, qk_norm=True,
    windows=lambda c: windows(c, 513, every(5)), rotary=False, endings=(), layer=_layer,
).register("kolibri1")  # fmt: skip
