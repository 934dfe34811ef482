"""MiniCPM3 (OpenBMB 2024). Source of shapes: transformers/models/minicpm3.

DeepSeek-V2's latent attention in a dense decoder; scalings have no tensors.
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
    return c.dim("hidden_size", default=2560)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="MiniCPM3RMSNorm")


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    sizes = latent_sizes(
        c,
        heads=40,
        query_rank=768,
        kv_rank=256,
        plain=64,
        rotary=32,
        value=h // c.dim("num_attention_heads", default=40),
    )
    bias = c.flag("attention_bias", default=False)
    return Module(
        "MiniCPM3DecoderLayer",
        self_attn=latent_attention("MiniCPM3", h, sizes, bias=bias),
        mlp=gated_mlp(
            "MiniCPM3MLP",
            h,
            c.dim("intermediate_size", default=6400),
            bias=c.flag("mlp_bias", default=False),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "MiniCPM3Model",
        embed_tokens=Embedding(
            c.dim("vocab_size", default=73448),
            _hidden(c),
            class_name="MiniCPM3ScaledWordEmbedding",
        ),
        layers=Layers.of(c.count("num_hidden_layers", default=62), layer(c)),
        norm=_norm(c),
    )


register(
    "minicpm3",
    decoder_classes(
        "MiniCPM3",
        model,
        hidden=_hidden,
        tied_default=True,
        heads=("ForSequenceClassification",),
    ),
    base="MiniCPM3Model",
    base_prefix="model",
    category="text decoder",
)
