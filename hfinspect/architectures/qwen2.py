"""Qwen2 and Qwen1.5 (Yang et al. 2024). Source: transformers/models/qwen2/modeling_qwen2.py.

Llama's block with biases on q, k and v alone.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import switched_windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-6), class_name="Qwen2RMSNorm"
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32, kv=32)
    return Module(
        "Qwen2DecoderLayer",
        self_attn=grouped_attention("Qwen2Attention", h, heads, bias=True, out_bias=False),
        mlp=gated_mlp(
            "Qwen2MLP",
            h,
            c.dim("intermediate_size", default=22016),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "Qwen2Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=151936), _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=32),
            layer(c),
            windows=switched_windows(c, 4096, 28),
        ),
        norm=_norm(c),
        rotary_emb=Activation("Qwen2RotaryEmbedding"),
    )


register(
    "qwen2",
    decoder_classes("Qwen2", model, hidden=_hidden, qa_prefix="transformer"),
    base="Qwen2Model",
    base_prefix="model",
    category="text decoder",
)
