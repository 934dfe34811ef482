"""InternLM3 (Shanghai AI Lab 2025): Llama's classes with defaults of its own. Source of shapes:
transformers/models/internlm3; for the repo's own class, whose query, key and value have a bias
apart from all others, modeling_internlm3.py in internlm/internlm3-8b-instruct.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="LlamaRMSNorm")


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    # head_dim present and null means hidden / heads; absent it is 128.
    heads = grouped_heads(c, h, heads=32, kv=2, head_dim=None if "head_dim" in c.values else 128)
    bias = c.flag("mlp_bias", "bias", default=False)
    return Module(
        "LlamaDecoderLayer",
        self_attn=grouped_attention(
            "LlamaAttention",
            h,
            heads,
            bias=c.flag("attention_bias", "qkv_bias", default=False),
            out_bias=c.flag("attention_bias", "bias", default=bias),
        ),
        mlp=gated_mlp(
            "LlamaMLP",
            h,
            c.dim("intermediate_size", default=10240),
            bias=bias,
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "LlamaModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=128512), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=48), layer(c)),
        norm=_norm(c),
    )


register(
    "internlm3",
    {
        "LlamaForCausalLM": causal_lm("LlamaForCausalLM", model),
        "LlamaModel": model,
        "InternLM3ForCausalLM": causal_lm("InternLM3ForCausalLM", model),
        "InternLM3Model": model,
    },
    base="LlamaModel",
    base_prefix="model",
    category="text decoder",
)
