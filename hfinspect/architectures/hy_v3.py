"""Hunyuan 3 (Tencent 2026). Source of shapes: transformers/models/hy_v3; names of files:
transformers/conversion_mapping.py.

Norms on q and k; a dense first layer, then shared and routed experts with a correction bias next to
the router, a buffer in float32.

Files on the Hub hold ``num_nextn_predict_layers`` more layers that predict the token after next;
transformers drops them. Their names and shapes: vLLM, model_executor/models/hy_v3_mtp.py. Whether
they also hold a head of their own (``shared_head``), which vLLM skips, is not known: left out.
"""

from collections.abc import Sequence

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads, layer_types
from ..layers.experts import experts
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module, Parameter, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig, size: int) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(size, eps=eps, class_name="HYV3RMSNorm")


def mlp(c: ModelConfig, kind: str) -> Module:
    h, act = _hidden(c), c.text("hidden_act", default="silu")
    bias = c.flag("mlp_bias", default=False)
    if kind == "dense":
        inner = c.dim("intermediate_size", default=13312)
        return gated_mlp("HYV3MLP", h, inner, bias=bias, act=act)
    inner = c.dim("moe_intermediate_size", default=1536)
    count = c.count("num_experts", "num_local_experts", default=192)
    per_token = c.dim("num_experts_per_tok", default=8)
    shared = inner * c.count("num_shared_experts", default=1)
    if not shared:  # None of them leaves one of the usual width (HYV3MLP).
        shared = c.dim("intermediate_size", default=13312)
    return Module(
        "HYV3MoE",
        expert_bias=Parameter(
            (count,), role=Role.BUFFER, dtype="F32", component=Component.ROUTER
        ),
        router=Module(
            "HYV3TopKRouter",
            gate=Linear(h, count, bias=False, class_name="HYV3TopKRouter"),
            component=Component.ROUTER
        ),
        experts=experts(
            count,
            per_token,
            gated_mlp("HYV3MLP", h, inner, act=act, kind="expert"),
            class_name="HYV3Experts",
        ),
        shared_mlp=gated_mlp("HYV3MLP", h, shared, bias=bias, act=act, kind="shared_expert"),
        component=Component.MLP,
    )  # fmt: skip


def layer(c: ModelConfig, kind: str) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=64, kv=8, head_dim=128)
    return Module(
        "HYV3DecoderLayer",
        self_attn=grouped_attention(
            "HYV3Attention",
            h,
            heads,
            bias=c.flag("attention_bias", default=False),
            norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
        ),
        mlp=mlp(c, kind),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def mlp_types(c: ModelConfig, layers: int) -> Sequence[str]:
    found = layer_types(c, layers, lambda i: "sparse" if i else "dense", key="mlp_layer_types")
    for kind in found:
        if kind not in ("dense", "sparse"):
            raise c.error("mlp_layer_types", kind, "dense or sparse")
    return found


def next_token_layer(c: ModelConfig) -> Module:
    """A sparse layer behind the projection that joins the embedding with the hidden state."""
    h = _hidden(c)
    return Module(
        "HYV3MTPDecoderLayer",
        {
            "enorm": _norm(c, h),
            "hnorm": _norm(c, h),
            "eh_proj": Linear(h * 2, h, bias=False, component=Component.PROJECTOR),
            **layer(c, "sparse").children,
            "final_layernorm": _norm(c, h),
        },
        part="mtp",
        kind="mtp",
        saved=False,
    )


def model(c: ModelConfig) -> Module:
    types = mlp_types(c, int(c.count("num_hidden_layers", default=80)))
    distinct = {kind: layer(c, kind) for kind in dict.fromkeys(types)}
    more = int(c.count("num_nextn_predict_layers", default=0))
    layers = [distinct[kind] for kind in types]
    if more:
        layers += [next_token_layer(c)] * more
    return Module(
        "HYV3Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=120832), _hidden(c)),
        layers=Layers(layers),
        norm=_norm(c, _hidden(c)),
    )


register(
    "hy_v3",
    decoder_classes("HYV3", model, heads=()),
    base_prefix="model",
    category="text decoder",
)
