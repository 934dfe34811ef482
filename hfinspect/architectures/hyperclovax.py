"""HyperCLOVA X (NAVER 2025). Source of shapes: transformers/models/hyperclovax.

Llama's block with a norm after attention and MLP too, unless ``use_post_norm`` is false.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="HyperCLOVAXRMSNorm")


def layer(c: ModelConfig) -> Module:
    h, after = _hidden(c), c.flag("use_post_norm", default=True)
    return Module(
        "HyperCLOVAXDecoderLayer",
        self_attn=grouped_attention(
            "HyperCLOVAXAttention",
            h,
            grouped_heads(c, h, heads=32),
            bias=c.flag("attention_bias", default=False),
        ),
        mlp=gated_mlp(
            "HyperCLOVAXMLP",
            h,
            c.dim("intermediate_size", default=11008),
            bias=c.flag("mlp_bias", default=False),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
        post_norm1=_norm(c) if after else Activation("Identity"),
        post_norm2=_norm(c) if after else Activation("Identity"),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "HyperCLOVAXModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
    )


register(
    "hyperclovax",
    decoder_classes("HyperCLOVAX", model, heads=()),
    base="HyperCLOVAXModel",
    base_prefix="model",
    category="text decoder",
)
