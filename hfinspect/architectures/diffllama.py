"""DiffLlama (differential transformer; Ye et al. 2024).

Source of shapes: transformers/models/diffllama/modeling_diffllama.py.
Llama whose attention is the difference of two maps, weighted by four learned vectors per layer.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(width, eps=c.number("rms_norm_eps", default=1e-5), class_name="DiffLlamaRMSNorm")


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32)
    bias = c.flag("attention_bias", default=False)
    block = grouped_attention("DiffLlamaAttention", h, heads, bias=bias)
    for name in ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"):
        block.children[name] = Weight(heads.dim)
    block.children["groupnorm"] = Activation("RMSNorm")
    return block


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=8192)
    return Module(
        "DiffLlamaDecoderLayer",
        self_attn=attention(c),
        mlp=gated_mlp("DiffLlamaMLP", h, inner, act=c.text("hidden_act", default="silu")),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "DiffLlamaModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=16), layer(c)),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("DiffLlamaRotaryEmbedding"),
    )


register(
    "diffllama",
    decoder_classes("DiffLlama", model, hidden=_hidden, qa_prefix="transformer"),
    base="DiffLlamaModel",
    base_prefix="model",
    category="text decoder",
)
