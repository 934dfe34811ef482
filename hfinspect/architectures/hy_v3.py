"""Hunyuan 3 (Tencent 2026). Source of shapes: transformers/models/hy_v3; names of files:
transformers/conversion_mapping.py.

Norms on q and k; a dense first layer, then shared and routed experts with a correction bias next to
the router, a buffer in float32.

Files on the Hub hold ``num_nextn_predict_layers`` more layers that predict the token after next;
transformers drops them. Their names and shapes: vLLM, model_executor/models/hy_v3_mtp.py. Whether
they also hold a head of their own (``shared_head``), which vLLM skips, is not known: left out.
"""

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..layers.blocks import gated_mlp
from ..layers.decoders import Decoder, joined_layer, pre_norm
from ..layers.experts import experts
from ..layers.latent_decoders import listed_kinds
from ..trees.modules import Linear, Module, Parameter
from .llama import LLAMA


def _moe(d: Decoder, c: ModelConfig) -> Module:
    h, act, inner = d.width(c), d.act(c), c.dim("moe_intermediate_size", default=1536)
    bias = c.flag("mlp_bias", default=False)
    count = c.count("num_experts", "num_local_experts", default=192)
    # No shared experts leave one of the usual width (HYV3MLP).
    shared = inner * c.count("num_shared_experts", default=1) or d.inner(c)
    expert = gated_mlp("HYV3MLP", h, inner, act=act, kind="expert")
    scores = Linear(h, count, bias=False, class_name="HYV3TopKRouter")
    per_token = c.dim("num_experts_per_tok", default=8)
    return Module(
        "HYV3MoE",
        expert_bias=Parameter((count,), role=Role.BUFFER, dtype="F32", component=Component.ROUTER),
        router=Module("HYV3TopKRouter", gate=scores, component=Component.ROUTER),
        experts=experts(count, per_token, expert, class_name="HYV3Experts"),
        shared_mlp=gated_mlp("HYV3MLP", h, shared, bias=bias, act=act, kind="shared_expert"),
        component=Component.MLP,
    )


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    if kind != "mtp":
        return pre_norm(d, c, kind)
    layer = joined_layer(d, c, pre_norm(d, c, "sparse"), "HYV3MTPDecoderLayer")
    layer.saved = False
    return layer


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    more = int(c.count("num_nextn_predict_layers", default=0))
    return [*listed_kinds(c, layers, lambda i: "sparse" if i else "dense"), *["mtp"] * more]


LLAMA.like(
    "HYV3", vocab_size=120832, intermediate_size=13312, num_hidden_layers=80,
    num_attention_heads=64, num_key_value_heads=8, head_dim=128, rms_norm_eps=1e-5, mlp_bias=False,
    qk_norm=True, moe=_moe, layer=_layer, kinds=_kinds, rotary=False, endings=(),
).register("hy_v3")  # fmt: skip
