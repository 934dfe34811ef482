"""Llama (Touvron et al. 2023). Source of shapes: transformers/models/llama/modeling_llama.py.

Pre-norm decoder: RMSNorm, grouped-query attention with rotary positions (no tensors), gated MLP.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Buffer, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-6), class_name="LlamaRMSNorm"
    )


def attention(c: ModelConfig, heads: Heads) -> Module:
    block = grouped_attention(
        "LlamaAttention", _hidden(c), heads, bias=c.flag("attention_bias", default=False)
    )
    # Files of the first Llama carry each layer's rotary frequencies.
    block.children["rotary_emb"] = Module(
        "LlamaRotaryEmbedding", inv_freq=Buffer(heads.dim // 2, saved=False), saved=False
    )
    return block


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "LlamaDecoderLayer",
        self_attn=attention(c, grouped_heads(c, h, heads=32)),
        mlp=gated_mlp(
            "LlamaMLP",
            h,
            c.dim("intermediate_size", default=11008),
            bias=c.flag("mlp_bias", default=False),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "LlamaModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
        rotary_emb=Activation("LlamaRotaryEmbedding"),
    )


_classes = decoder_classes("Llama", model, hidden=_hidden, qa_prefix="transformer")

register(
    "llama",
    # The first conversions of the original weights spell the class in capitals.
    {**_classes, "LLaMAForCausalLM": _classes["LlamaForCausalLM"]},
    base="LlamaModel",
    base_prefix="model",
    category="text decoder",
)
