"""Qwen3 (Yang et al. 2025). Source of shapes: transformers/models/qwen3/modeling_qwen3.py.

Qwen2 without its biases; heads are 128 wide whatever the hidden size, and queries and keys have a
norm over one head.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import switched_windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig, size: Dim | None = None) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c) if size is None else size, eps=eps, class_name="Qwen3RMSNorm")


def attention(c: ModelConfig, heads: Heads) -> Module:
    return grouped_attention(
        "Qwen3Attention",
        _hidden(c),
        heads,
        bias=c.flag("attention_bias", default=False),
        norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "Qwen3DecoderLayer",
        self_attn=attention(c, grouped_heads(c, h, heads=32, kv=32, head_dim=128)),
        mlp=gated_mlp(
            "Qwen3MLP",
            h,
            c.dim("intermediate_size", default=22016),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "Qwen3Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=151936), _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=32),
            layer(c),
            windows=switched_windows(c, 4096, 28),
        ),
        norm=_norm(c),
        rotary_emb=Activation("Qwen3RotaryEmbedding"),
    )


register(
    "qwen3",
    decoder_classes("Qwen3", model, hidden=_hidden, qa_prefix="transformer"),
    base="Qwen3Model",
    base_prefix="model",
    category="text decoder",
)
