"""InternLM (InternLM team 2023). No class in transformers. Source of shapes: modeling_internlm.py
in internlm/internlm-7b and internlm-20b.

Llama's block, with biases on all four attention matrices in the 7B (``bias``).
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
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="InternLMRMSNorm")


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32)
    attention = grouped_attention("InternLMAttention", h, heads, bias=c.flag("bias", default=True))
    attention.children["rotary_emb"] = Module(
        "InternLMRotaryEmbedding", inv_freq=Buffer(heads.dim // 2, dtype="F32", saved=False)
    )
    inner = c.dim("intermediate_size", default=11008)
    return Module(
        "InternLMDecoderLayer",
        self_attn=attention,
        mlp=gated_mlp("InternLMMLP", h, inner, act=c.text("hidden_act", default="silu")),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "InternLMModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=103168), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
    )


register(
    "internlm",
    decoder_classes("InternLM", model, hidden=_hidden, heads=("ForSequenceClassification",)),
    base="InternLMModel",
    base_prefix="model",
    category="text decoder",
    source="modeling_internlm.py of internlm/internlm-7b; checked against transformers' Llama",
)
