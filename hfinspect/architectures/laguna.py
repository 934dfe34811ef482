"""Laguna (poolside 2026). Source of shapes: transformers/models/laguna.

A decoder whose layers may have heads of their own number, norms on q and k, a gate on the
attention's output and, but for the first, experts with one shared; the router's correction bias,
a parameter here, lies next to the experts in files.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, gated_mlp, grouped_attention, layer_types
from ..layers.experts import experts, router
from ..layers.heads import decoder_classes
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig, size: int) -> Module:
    return RMSNorm(size, eps=c.number("rms_norm_eps", default=1e-6), class_name="LagunaRMSNorm")


def heads_per_layer(c: ModelConfig, layers: int) -> Sequence[Dim]:
    key = "num_attention_heads_per_layer"
    if not c.has(key):
        return [c.dim("num_attention_heads", default=48)] * layers
    found = c.dims(key)
    if len(found) != layers:
        raise c.error(key, f"{len(found)} entries", f"one for each of {layers} layers")
    return found


def attention(c: ModelConfig, query: Dim) -> Module:
    h = _hidden(c)
    heads = Heads(query, c.dim("num_key_value_heads", default=8), c.dim("head_dim", default=128))
    gating = c.raw("gating")
    per_head = gating in (None, True, "per-head")
    block = grouped_attention(
        "LagunaAttention",
        h,
        heads,
        bias=c.flag("attention_bias", default=False),
        norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
    )
    width = heads.query if per_head else heads.query * heads.dim
    block.children["g_proj"] = Linear(h, width, bias=False, kind="gate")
    return block


def mlp(c: ModelConfig, kind: str) -> Module:
    h, act = _hidden(c), c.text("hidden_act", default="silu")
    if kind == "dense":
        return gated_mlp("LagunaMLP", h, c.dim("intermediate_size", default=8192), act=act)
    count = c.count("num_experts", default=256)
    routed = gated_mlp(
        "LagunaMLP", h, c.dim("moe_intermediate_size", default=512), act=act, kind="expert"
    )
    shared = c.dim("shared_expert_intermediate_size", default=512)
    per_token = c.dim("num_experts_per_tok", default=8)
    listed = experts(count, per_token, routed, class_name="LagunaExperts")
    # Every token reads the whole bias, whatever experts serve it.
    listed.children["e_score_correction_bias"] = Weight(
        count, component=Component.ROUTER, active=(1, 1)
    )
    return Module(
        "LagunaSparseMoeBlock",
        experts=listed,
        gate=router("LagunaTopKRouter", h, count),
        shared_expert=gated_mlp("LagunaMLP", h, shared, act=act, kind="shared_expert"),
        component=Component.MLP,
    )


def layer(c: ModelConfig, query: Dim, kind: str) -> Module:
    return Module(
        "LagunaDecoderLayer",
        self_attn=attention(c, query),
        mlp=mlp(c, kind),
        input_layernorm=_norm(c, _hidden(c)),
        post_attention_layernorm=_norm(c, _hidden(c)),
    )


def mlp_types(c: ModelConfig, layers: int) -> Sequence[str]:
    key = "mlp_layer_types"
    found = layer_types(c, layers, lambda i: "sparse" if i else "dense", key=key)
    for kind in found:
        if kind not in ("dense", "sparse"):
            raise c.error(key, kind, "dense or sparse")
    return found


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers", default=40))
    described = list(zip(heads_per_layer(c, count), mlp_types(c, count), strict=True))
    distinct = {entry: layer(c, *entry) for entry in dict.fromkeys(described)}
    return Module(
        "LagunaModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=100352), _hidden(c)),
        layers=Layers(
            (distinct[entry] for entry in described), windows=windows(c, 512, lambda _i, _n: True)
        ),
        norm=_norm(c, _hidden(c)),
    )


register(
    "laguna",
    decoder_classes("Laguna", model, heads=()),
    base="LagunaModel",
    base_prefix="model",
    category="text decoder",
)
