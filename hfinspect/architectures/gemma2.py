"""Gemma 2 (Gemma Team 2024). Source of shapes: transformers/models/gemma2/modeling_gemma2.py.

Gemma with a norm before and after each half of a layer. Layers alternate between sliding and full
attention, which changes no tensor.
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm

Norms = Callable[[], dict[str, Module]]


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2304)


def norm(c: ModelConfig, width: Dim, name: str) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(width, eps=eps, class_name=f"{name}RMSNorm")


def layer(c: ModelConfig, name: str = "Gemma2", norms: Norms | None = None) -> Module:
    """A layer whose classes begin with ``name``; ``norms`` are those inside attention."""
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=8, kv=4, head_dim=256)
    inner = c.dim("intermediate_size", default=9216)
    act = c.text("hidden_activation", default="gelu_pytorch_tanh")
    bias = c.flag("attention_bias", default=False)
    return Module(
        f"{name}DecoderLayer",
        self_attn=grouped_attention(f"{name}Attention", h, heads, bias=bias, norms=norms),
        mlp=gated_mlp(f"{name}MLP", h, inner, act=act),
        input_layernorm=norm(c, h, name),
        post_attention_layernorm=norm(c, h, name),
        pre_feedforward_layernorm=norm(c, h, name),
        post_feedforward_layernorm=norm(c, h, name),
    )


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    vocab = c.dim("vocab_size", default=256000)
    return Module(
        "Gemma2Model",
        embed_tokens=Embedding(vocab, h, class_name="Gemma2TextScaledWordEmbedding"),
        layers=Layers.of(
            c.count("num_hidden_layers", default=26), layer(c), windows=windows(c, 4096, every(2))
        ),
        norm=norm(c, h, "Gemma2"),
        rotary_emb=Activation("Gemma2RotaryEmbedding"),
    )


register(
    "gemma2",
    decoder_classes(
        "Gemma2",
        model,
        hidden=_hidden,
        tied_default=True,
        heads=("ForSequenceClassification", "ForTokenClassification"),
    ),
    base="Gemma2Model",
    base_prefix="model",
    category="text decoder",
)
