"""Mistral (Jiang et al. 2023). Source of shapes: transformers/models/mistral/modeling_mistral.py.

Llama's block with 8 key heads by default and never a bias; the sliding window has no tensors.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-6), class_name="MistralRMSNorm"
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "MistralDecoderLayer",
        self_attn=grouped_attention("MistralAttention", h, grouped_heads(c, h, heads=32, kv=8)),
        mlp=gated_mlp(
            "MistralMLP",
            h,
            c.dim("intermediate_size", default=14336),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "MistralModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=32), layer(c), windows=windows(c, 4096)
        ),
        norm=_norm(c),
        rotary_emb=Activation("MistralRotaryEmbedding"),
    )


register(
    "mistral",
    decoder_classes("Mistral", model, hidden=_hidden),
    base="MistralModel",
    base_prefix="model",
    category="text decoder",
)
