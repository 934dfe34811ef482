"""Cohere Command R7B and Command A (2024). Source: transformers/models/cohere2/modeling_cohere2.py.

Command R without norms in attention. Three of four layers use a sliding window, which changes no
tensor.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module
from .cohere import hidden, mlp, norm


def model(c: ModelConfig) -> Module:
    h = hidden(c)
    heads = grouped_heads(c, h, heads=64)
    bias = c.flag("attention_bias", default=False)
    layer = Module(
        "Cohere2DecoderLayer",
        self_attn=grouped_attention("Cohere2Attention", h, heads, bias=bias),
        mlp=mlp(c, "Cohere2"),
        input_layernorm=norm("Cohere2", h),
    )
    return Module(
        "Cohere2Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=256000), h),
        layers=Layers.of(
            c.count("num_hidden_layers", default=40),
            layer,
            windows=windows(c, 4096, every(int(c.dim("sliding_window_pattern", default=4)))),
        ),
        norm=norm("Cohere2", h),
        rotary_emb=Activation("Cohere2RotaryEmbedding"),
    )


register(
    "cohere2",
    decoder_classes("Cohere2", model, hidden=hidden, tied_default=True, heads=()),
    base="Cohere2Model",
    base_prefix="model",
    category="text decoder",
)
