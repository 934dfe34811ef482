"""EXAONE 4 (LG AI Research 2025). Source: transformers/models/exaone4/modeling_exaone4.py.

Norms follow attention and MLP; queries and keys are normed per head. Three of four layers use a
sliding window, which changes no tensor.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig, width: Dim) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(width, eps=eps, class_name="Exaone4RMSNorm")


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32, kv=32)

    def norms() -> dict[str, Module]:
        return {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)}

    inner = c.dim("intermediate_size", default=16384)
    return Module(
        "Exaone4DecoderLayer",
        self_attn=grouped_attention("Exaone4Attention", h, heads, norms=norms),
        mlp=gated_mlp("Exaone4MLP", h, inner, act=c.text("hidden_act", default="silu")),
        post_attention_layernorm=_norm(c, h),
        post_feedforward_layernorm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "Exaone4Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=102400), h),
        layers=Layers.of(
            c.count("num_hidden_layers", default=32),
            layer(c),
            windows=windows(c, 4096, every(int(c.dim("sliding_window_pattern", default=4)))),
        ),
        norm=_norm(c, h),
        rotary_emb=Activation("Exaone4RotaryEmbedding"),
    )


register(
    "exaone4",
    decoder_classes("Exaone4", model, hidden=_hidden, qa_prefix="transformer"),
    base="Exaone4Model",
    base_prefix="model",
    category="text decoder",
)
