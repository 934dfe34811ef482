"""Code World Model (Meta FAIR 2025). Source of shapes: transformers/models/cwm/modeling_cwm.py.

Llama; three of four layers use a sliding window, which changes no tensor.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=6144)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-5), class_name="CwmRMSNorm")


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=21504)
    heads = grouped_heads(c, h, heads=48, kv=8, head_dim=128)
    act, bias = c.text("hidden_act", default="silu"), c.flag("mlp_bias", default=False)
    return Module(
        "CwmDecoderLayer",
        self_attn=grouped_attention("CwmAttention", h, heads),
        mlp=gated_mlp("CwmMLP", h, inner, bias=bias, act=act),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "CwmModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=128256), _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=64),
            layer(c),
            windows=windows(c, 8192, every(4, first=0)),
        ),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("CwmRotaryEmbedding"),
    )


register(
    "cwm",
    decoder_classes("Cwm", model, hidden=_hidden, heads=()),
    base="CwmModel",
    base_prefix="model",
    category="text decoder",
)
