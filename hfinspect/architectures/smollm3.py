"""SmolLM3 (Hugging Face 2025). Source of shapes: transformers/models/smollm3/modeling_smollm3.py.

A Llama-like decoder with tied embeddings. Every fourth layer has no rotary positions, which changes
no tensor.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import nowhere, windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm, Windows


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-6), class_name="SmolLM3RMSNorm"
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    bias = c.flag("attention_bias", default=False)
    return Module(
        "SmolLM3DecoderLayer",
        self_attn=grouped_attention(
            "SmolLM3Attention", h, grouped_heads(c, h, heads=16, kv=4), bias=bias
        ),
        mlp=gated_mlp(
            "SmolLM3MLP",
            h,
            c.dim("intermediate_size", default=11008),
            bias=c.flag("mlp_bias", default=False),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def _windows(c: ModelConfig) -> Windows:
    """Only with ``use_sliding_window``: the layers without rotary positions."""
    if not c.flag("use_sliding_window", default=False):
        return nowhere
    rotary = c.raw("no_rope_layers")
    step = int(c.dim("no_rope_layer_interval", default=4))
    listed = rotary if isinstance(rotary, list) else ()
    return windows(
        c, None, lambda i, _: bool(listed[i]) if i < len(listed) else (i + 1) % step != 0
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "SmolLM3Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=128256), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=36), layer(c), windows=_windows(c)),
        norm=_norm(c),
        rotary_emb=Activation("SmolLM3RotaryEmbedding"),
    )


register(
    "smollm3",
    decoder_classes("SmolLM3", model, hidden=_hidden, tied_default=True, qa_prefix="transformer"),
    base="SmolLM3Model",
    base_prefix="model",
    category="text decoder",
)
