"""openPangu Embedded 1B and 7B (Huawei 2025). No class in transformers. Source of shapes:
modeling_openpangu_dense.py in FreedomIntelligence/openPangu-Embedded-7B, and its index.

Llama's layers with biases on all four projections of attention (``bias``). Files hold the rotary
frequencies of each layer, in float32.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Buffer, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="PanguEmbeddedRMSNorm")


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32, kv=8)
    attention = grouped_attention(
        "PanguEmbeddedAttention", h, heads, bias=c.flag("bias", default=True)
    )
    attention.children["rotary_emb"] = Module(
        "PanguEmbeddedRotaryEmbedding", inv_freq=Buffer(heads.dim // 2, dtype="F32"), saved=False
    )
    return Module(
        "PanguEmbeddedDecoderLayer",
        self_attn=attention,
        mlp=gated_mlp(
            "PanguEmbeddedMLP",
            h,
            c.dim("intermediate_size", default=12800),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "PanguEmbeddedModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=153376), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=34), layer(c)),
        norm=_norm(c),
    )


register(
    "PanguEmbedded",
    decoder_classes("PanguEmbedded", model, hidden=_hidden, heads=()),
    base="PanguEmbeddedModel",
    base_prefix="model",
    category="text decoder",
    source="modeling_openpangu_dense.py and the index of openPangu-Embedded-7B",
)
