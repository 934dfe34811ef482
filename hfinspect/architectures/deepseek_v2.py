"""DeepSeek-V2 (DeepSeek-AI 2024). Source of shapes: transformers/models/deepseek_v2.

Latent attention and shared experts as in V3 (see deepseek_v3.py); the router has no correction
bias.  V2-Lite projects its queries directly (``q_lora_rank`` null).
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp
from ..layers.experts import routed_and_shared, router, shared_width
from ..layers.heads import decoder_classes
from ..layers.latent import latent_attention, latent_sizes
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-6), class_name="DeepseekV2RMSNorm"
    )


def sparse(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("moe_intermediate_size", default=1407)
    count = c.count("n_routed_experts", "num_experts", default=64)
    return routed_and_shared(
        "DeepseekV2",
        h,
        inner,
        count=count,
        per_token=c.dim("num_experts_per_tok", default=count),
        shared=shared_width(c, inner, default=2),
        gate=router("DeepseekV2TopkRouter", h, count),
        act=c.text("hidden_act", default="silu"),
        bias=c.flag("mlp_bias", default=False),
        class_name="DeepseekV2Moe",
    )


def dense(c: ModelConfig) -> Module:
    return gated_mlp(
        "DeepseekV2MLP",
        _hidden(c),
        c.dim("intermediate_size", default=11008),
        bias=c.flag("mlp_bias", default=False),
        act=c.text("hidden_act", default="silu"),
    )


def layer(c: ModelConfig, mlp: Module) -> Module:
    bias = c.flag("attention_bias", default=False)
    return Module(
        "DeepseekV2DecoderLayer",
        self_attn=latent_attention("DeepseekV2", _hidden(c), latent_sizes(c, heads=32), bias=bias),
        mlp=mlp,
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers", default=32))
    first = min(int(c.count("first_k_dense_replace", default=0)), count)
    return Module(
        "DeepseekV2Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=102400), _hidden(c)),
        layers=Layers([layer(c, dense(c))] * first + [layer(c, sparse(c))] * (count - first)),
        norm=_norm(c),
    )


register(
    "deepseek_v2",
    decoder_classes("DeepseekV2", model, hidden=_hidden, heads=("ForSequenceClassification",)),
    base="DeepseekV2Model",
    base_prefix="model",
    category="text decoder",
)
