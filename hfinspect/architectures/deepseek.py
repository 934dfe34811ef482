"""DeepSeekMoE-16B (Dai et al. 2024). No class in transformers. Source of shapes:
modeling_deepseek.py in deepseek-ai/deepseek-moe-16b-base; SGLang's deepseek.py reads the same
names.

Llama's block; after ``first_k_dense_replace`` dense layers the MLPs are routed experts and shared
ones. No latent attention, and no bias that balances the router.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.experts import routed_and_shared, shared_width
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="DeepseekRMSNorm")


def _dense(c: ModelConfig) -> Module:
    inner = c.dim("intermediate_size", default=11008)
    return gated_mlp("DeepseekMLP", _hidden(c), inner, act=c.text("hidden_act", default="silu"))


def _sparse(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("moe_intermediate_size", default=1407)
    count = c.count("n_routed_experts")
    return routed_and_shared(
        "Deepseek", h, inner, count=count, per_token=c.dim("num_experts_per_tok"),
        shared=shared_width(c, inner, default=0),
        gate=Module("MoEGate", weight=Weight(count, h), component=Component.ROUTER),
        act=c.text("hidden_act", default="silu"),
    )  # fmt: skip


def layer(c: ModelConfig, mlp: Module) -> Module:
    h = _hidden(c)
    return Module(
        "DeepseekDecoderLayer",
        self_attn=grouped_attention(
            "DeepseekAttention", h, grouped_heads(c, h, heads=32),
            bias=c.flag("attention_bias", default=False),
        ),
        mlp=mlp,
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )  # fmt: skip


def model(c: ModelConfig) -> Module:
    """Without ``n_routed_experts`` every layer is dense."""
    count = int(c.count("num_hidden_layers", default=30))
    first = int(c.count("first_k_dense_replace", default=0))
    every = int(c.dim("moe_layer_freq", default=1))
    routed = int(c.count("n_routed_experts", default=0)) > 0
    sparse = [routed and i >= first and i % every == 0 for i in range(count)]
    made = {kind: layer(c, _sparse(c) if kind else _dense(c)) for kind in dict.fromkeys(sparse)}
    return Module(
        "DeepseekModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=102400), _hidden(c)),
        layers=Layers(made[kind] for kind in sparse),
        norm=_norm(c),
    )


register(
    "deepseek",
    decoder_classes("Deepseek", model, hidden=_hidden, heads=("ForSequenceClassification",)),
    base="DeepseekModel",
    base_prefix="model",
    category="text decoder",
    source="modeling_deepseek.py of deepseek-ai/deepseek-moe-16b-base",
)
