"""Yi 6B and 34B under their first class (01.AI 2023; since then released as Llama). No class in
transformers. Source of shapes: modeling_yi.py in 01-ai/Yi-6B.

Llama's block, the two norms called ``ln1`` and ``ln2``.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="YiRMSNorm")


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    inner = c.dim("intermediate_size", default=11008)
    return Module(
        "YiDecoderLayer",
        self_attn=grouped_attention("YiAttention", h, grouped_heads(c, h, heads=32, kv=4)),
        mlp=gated_mlp("YiMLP", h, inner, act=c.text("hidden_act", default="silu")),
        ln1=_norm(c),
        ln2=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "YiModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=64000), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
    )


register(
    "Yi",
    decoder_classes("Yi", model, hidden=_hidden, heads=("ForSequenceClassification",)),
    base="YiModel",
    base_prefix="model",
    category="text decoder",
    source="modeling_yi.py of 01-ai/Yi-6B; checked against transformers' Llama",
)
