"""Cohere 2 with experts. Source: transformers/models/cohere2_moe/modeling_cohere2_moe.py.

Attention and MLP side by side on one norm, as in Command R7B; after ``first_k_dense_replace`` dense
layers, experts of the full ``intermediate_size`` and, where asked, shared ones. The norm is a
layer norm without bias, or an RMS norm where ``rms_norm_eps`` is given.
"""

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import layer_types
from ..layers.decoders import Decoder, gated_of, pre_norm
from ..layers.experts import experts, router
from ..layers.windows import windows
from ..trees.modules import Module, Weight, Windows
from .llama import LLAMA


def _norm(_d: Decoder, c: ModelConfig, size: int) -> Module:
    kind = "RMSNorm" if c.has("rms_norm_eps") else "LayerNorm"
    return Module(f"Cohere2Moe{kind}", weight=Weight(size), component=Component.NORM)


def _moe(d: Decoder, c: ModelConfig) -> Module:
    inner = d.inner(c)
    count = c.count("num_experts", default=8, minimum=1)
    shared = c.count("num_shared_experts", default=0)
    per_token = c.count("num_experts_per_tok", default=2)
    return Module(
        "Cohere2MoeSparseMoeBlock",
        gate=router("Cohere2MoeTopKRouter", d.width(c), count),
        experts=experts(count, per_token, gated_of(d, c, inner), class_name="Cohere2MoeExperts"),
        shared_experts=gated_of(d, c, inner * shared, "shared_expert") if shared else None,
        component=Component.MLP,
    )


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block = pre_norm(d, c, "dense" if kind == "dense" else "sparse")
    del block.children["post_attention_layernorm"]
    return block


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
    first = c.count("first_k_dense_replace", default=0)
    return layer_types(
        c, layers, lambda i: "dense" if i < first else "sparse", key="mlp_layer_types"
    )


def _windows(c: ModelConfig) -> Windows:
    """The dense layers at the beginning have a rhythm of their own."""
    first = int(c.count("first_k_dense_replace", default=0))
    prefix = int(c.dim("prefix_dense_sliding_window_pattern", default=1))
    step = int(c.dim("sliding_window_pattern", default=4))

    def sees_all(i: int, _layers: int) -> bool:
        return (i + 1) % prefix == 0 if i < first else (i - first + 1) % step == 0

    return windows(c, 4096, sees_all)


LLAMA.like(
    "Cohere2Moe", vocab_size=256000, hidden_size=8192, intermediate_size=22528,
    num_hidden_layers=40, num_attention_heads=64, head_dim=128, tie_word_embeddings=True,
    mlp_bias=None, endings=(), norm=_norm, moe=_moe, kinds=_kinds, layer=_layer, windows=_windows,
    mlp=lambda d, c: gated_of(d, c, c.dim("prefix_dense_intermediate_size", default=d.inner(c))),
).register("cohere2_moe")  # fmt: skip
