"""XVERSE 7B, 13B and 65B (XVERSE 2023). No class in transformers. Source of shapes:
modeling_xverse.py in xverse/XVERSE-13B.

Llama's block with as many key heads as query heads.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..errors import UnknownArchitectureError
from ..layers.blocks import Heads, gated_mlp, grouped_attention
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Buffer, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=5120)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="XverseRMSNorm")


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    count = c.dim("num_attention_heads", default=40)
    head = c.divided(h, count, "hidden_size", "num_attention_heads")
    attention = grouped_attention("XverseAttention", h, Heads(count, count, head))
    attention.children["rotary_emb"] = Module(
        "XverseRotaryEmbedding", inv_freq=Buffer(head // 2, dtype="F32", saved=False)
    )
    inner = c.dim("intermediate_size", default=13824)
    return Module(
        "XverseDecoderLayer",
        self_attn=attention,
        mlp=gated_mlp("XverseMLP", h, inner, act=c.text("hidden_act", default="silu")),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    if c.has("num_experts"):
        raise UnknownArchitectureError(
            "an xverse config with num_experts (XVERSE-MoE)", "is not in the catalog",
            where=c.path or None, hint="a checkpoint's headers are read without the catalog",
        )  # fmt: skip
    return Module(
        "XverseModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=100278), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=40), layer(c)),
        norm=_norm(c),
    )


register(
    "xverse",
    decoder_classes("Xverse", model, hidden=_hidden, heads=()),
    base="XverseModel",
    base_prefix="model",
    category="text decoder",
    source="modeling_xverse.py of xverse/XVERSE-13B; checked against transformers' Llama",
)
