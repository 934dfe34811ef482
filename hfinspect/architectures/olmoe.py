"""OLMoE (Muennighoff et al. 2024). Source of shapes: transformers/models/olmoe.

Experts in every layer, and norms over the whole of q and of k before they are cut into heads.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.experts import sparse_block
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig, size: int) -> Module:
    return RMSNorm(size, eps=c.number("rms_norm_eps", default=1e-5), class_name="OlmoeRMSNorm")


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=16)
    return Module(
        "OlmoeDecoderLayer",
        self_attn=grouped_attention(
            "OlmoeAttention",
            h,
            heads,
            bias=c.flag("attention_bias", default=False),
            norms=lambda: {
                "q_norm": _norm(c, h),
                "k_norm": _norm(c, h // heads.query * heads.kv),
            },
        ),
        mlp=sparse_block(
            "Olmoe",
            h,
            c.dim("intermediate_size", default=2048),
            count=c.count("num_experts", "num_local_experts", default=64),
            per_token=c.dim("num_experts_per_tok", default=8),
            shared=None,
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "OlmoeModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=50304), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=16), layer(c)),
        norm=_norm(c, _hidden(c)),
    )


register(
    "olmoe",
    decoder_classes("Olmoe", model, heads=()),
    base="OlmoeModel",
    base_prefix="model",
    category="text decoder",
)
