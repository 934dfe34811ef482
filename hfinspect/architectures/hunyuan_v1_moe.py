"""Hunyuan MoE (Hunyuan-A13B, Tencent 2025).

Source of shapes: transformers/models/hunyuan_v1_moe/modeling_hunyuan_v1_moe.py.
Every layer has experts and one shared MLP of the same width. ``moe_topk`` may differ by layer.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.experts import experts
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module
from .hunyuan_v1_dense import attention, hidden, mlp, norm

_NAME = "HunYuanMoEV1"
#: Experts are listed once for each distinct moe_topk; published models have one.
_MAX_DISTINCT = 32


def layer(c: ModelConfig, per_token: int) -> Module:
    h = hidden(c)
    count = c.count("num_experts", "num_local_experts", default=1, minimum=1)
    gate = Linear(h, count, bias=False)
    return Module(
        f"{_NAME}DecoderLayer",
        self_attn=attention(c, _NAME),
        mlp=Module(
            f"{_NAME}Moe",
            gate=Module(f"{_NAME}Gate", wg=gate, component=Component.ROUTER),
            experts=experts(count, per_token, mlp(c, _NAME), class_name=f"{_NAME}Experts"),
            shared_mlp=mlp(c, _NAME, "shared_expert"),
            component=Component.MLP,
        ),
        input_layernorm=norm(c, h, _NAME),
        post_attention_layernorm=norm(c, h, _NAME),
    )


def layers(c: ModelConfig) -> Layers:
    count = c.count("num_hidden_layers", default=32)
    routed = c.dims("moe_topk", "num_experts_per_tok", default=(1,))
    if len(routed) == 1:
        routed *= int(count)
    if len(routed) < count:
        raise c.error("moe_topk", f"{len(routed)} entries", f"one for each of {count} layers")
    distinct = len({int(k) for k in routed})
    if distinct > _MAX_DISTINCT:
        raise c.error("moe_topk", f"{distinct} different values", f"at most {_MAX_DISTINCT}")
    built = {int(k): layer(c, k) for k in routed[: int(count)]}
    return Layers(built[int(k)] for k in routed[: int(count)])


def model(c: ModelConfig) -> Module:
    h = hidden(c)
    return Module(
        f"{_NAME}Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=290943), h),
        layers=layers(c),
        norm=norm(c, h, _NAME),
        rotary_emb=Activation(f"{_NAME}RotaryEmbedding"),
    )


register(
    "hunyuan_v1_moe",
    decoder_classes(_NAME, model, hidden=hidden, heads=("ForSequenceClassification",)),
    base=f"{_NAME}Model",
    base_prefix="model",
    category="text decoder",
)
