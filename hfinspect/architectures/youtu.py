"""Youtu-LLM (Tencent 2025). Source of shapes: transformers/models/youtu.

DeepSeek-V3's latent attention in a dense decoder.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp
from ..layers.heads import decoder_classes
from ..layers.latent import latent_attention, latent_sizes
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="YoutuRMSNorm")


def layer(c: ModelConfig) -> Module:
    h, bias = _hidden(c), c.flag("attention_bias", default=False)
    inner = c.dim("intermediate_size", default=6144)
    return Module(
        "YoutuDecoderLayer",
        self_attn=latent_attention("Youtu", h, latent_sizes(c, heads=16), bias=bias),
        mlp=gated_mlp("YoutuMLP", h, inner, act=c.text("hidden_act", default="silu")),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "YoutuModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=128256), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
    )


register(
    "youtu",
    decoder_classes("Youtu", model, heads=(), tied_default=True),
    base="YoutuModel",
    base_prefix="model",
    category="text decoder",
)
