"""Qwen3-Next (Qwen team 2025). Source of shapes: transformers/models/qwen3_next.

Three layers in four mix with a gated delta net (linear attention: Yang et al. 2024), the fourth
with gated attention, whose q_proj also yields the output gate; experts as in Qwen2-MoE.

Files on the Hub hold a multi-token-prediction block ``mtp`` that transformers drops; its shapes are
those of vLLM's model_executor/models/qwen3_next_mtp.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, gated_mlp, grouped_heads, layer_types
from ..layers.experts import sparse_block, sparse_layers
from ..layers.heads import decoder_classes
from ..trees.catalog import Builder, register
from ..trees.keeps import State
from ..trees.modules import Conv, Embedding, Layers, Linear, Module, RMSNorm, Weight

#: The mixers that transformers knows for these families.
MIXERS = ("linear_attention", "full_attention")


def gated_attention(
    c: ModelConfig, class_name: str, hidden: int, heads: Heads, norm: Callable[[int], Module]
) -> Module:
    """Grouped attention whose q_proj is twice as wide: the second half gates the output."""
    bias = c.flag("attention_bias", default=False)
    width, kv_width = heads.query * heads.dim, heads.kv * heads.dim
    return Module(
        class_name,
        q_proj=Linear(hidden, width * 2, bias=bias, kind="query"),
        k_proj=Linear(hidden, kv_width, bias=bias, kind="key"),
        v_proj=Linear(hidden, kv_width, bias=bias, kind="value"),
        o_proj=Linear(width, hidden, bias=bias, kind="output"),
        q_norm=norm(heads.dim),
        k_norm=norm(heads.dim),
        component=Component.ATTENTION,
    )


def delta_net(c: ModelConfig, name: str, hidden: int, *, fused: bool) -> Module:
    """The gated delta net: q, k, v through a short convolution, a decay and a step per value head.

    ``fused``: one projection for q, k, v and the gate z, one for the steps b and decays a;
    else four.
    """
    value_heads = c.dim("linear_num_value_heads", default=32)
    key_dim = c.dim("linear_key_head_dim", default=128)
    key = key_dim * c.dim("linear_num_key_heads", default=16)
    value_dim = c.dim("linear_value_head_dim", default=128)
    value = value_dim * value_heads
    mixed = key * 2 + value
    kernel = c.dim("linear_conv_kernel_dim", default=4)
    if fused:
        inputs = {
            "in_proj_qkvz": Linear(hidden, key * 2 + value * 2, bias=False),
            "in_proj_ba": Linear(hidden, value_heads * 2, bias=False),
        }
    else:
        inputs = {
            "in_proj_qkv": Linear(hidden, mixed, bias=False),
            "in_proj_z": Linear(hidden, value, bias=False),
            "in_proj_b": Linear(hidden, value_heads, bias=False),
            "in_proj_a": Linear(hidden, value_heads, bias=False),
        }
    return Module(
        f"{name}GatedDeltaNet",
        {
            "dt_bias": Weight(value_heads),
            "A_log": Weight(value_heads),
            "conv1d": Conv(
                mixed, mixed, kernel, dims=1, groups=mixed, bias=False, component=None
            ),
            **inputs,
            "norm": RMSNorm(value_dim, class_name=f"{name}RMSNormGated"),
            "out_proj": Linear(value, hidden, bias=False),
        },
        component=Component.SSM,
        keeps=(State("recurrent", (value, key_dim), "F32"),),
    )  # fmt: skip


def mixer_types(c: ModelConfig, layers: int) -> list[str]:
    """layer_types, else a full attention in every ``full_attention_interval``-th layer."""
    every = int(c.dim("full_attention_interval", default=4))
    types = layer_types(
        c, layers, lambda i: "linear_attention" if (i + 1) % every else "full_attention"
    )
    for kind in types:
        if kind not in MIXERS:
            raise c.error("layer_types", kind, " or ".join(MIXERS))
    return list(types)


def token_predictor(
    name: str, hidden: int, norm: Callable[[int], Module], layer: Module, count: int
) -> Module:
    """The block that predicts the token after next: joins embedding and hidden state, runs
    ``count`` full-attention layers; embedding and head are the model's own."""
    return Module(
        f"{name}MultiTokenPredictor",
        fc=Linear(hidden * 2, hidden, bias=False),
        layers=Layers([layer] * count),
        norm=norm(hidden),
        pre_fc_norm_hidden=norm(hidden),
        pre_fc_norm_embedding=norm(hidden),
        part="mtp",
        kind="mtp",
        saved=False,
    )


def with_predictor(build: Builder, predictor: Callable[[ModelConfig], Module | None]) -> Builder:
    """The same class with the Hub's ``mtp`` block at its root."""

    def built(c: ModelConfig) -> Module:
        root = build(c)
        block = predictor(c)
        if block is not None:
            root.children["mtp"] = block
        return root

    return built


# ---- the family


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig, size: int) -> Module:
    return RMSNorm(size, eps=c.number("rms_norm_eps", default=1e-6), class_name="Qwen3NextRMSNorm")


def _mixer(c: ModelConfig, kind: str) -> dict[str, Module]:
    h = _hidden(c)
    if kind == "linear_attention":
        return {"linear_attn": delta_net(c, "Qwen3Next", h, fused=True)}
    heads = grouped_heads(c, h, heads=16, kv=2, head_dim=256)
    return {"self_attn": gated_attention(c, "Qwen3NextAttention", h, heads, partial(_norm, c))}


def _mlp(c: ModelConfig, routed: bool) -> Module:
    h, act = _hidden(c), c.text("hidden_act", default="silu")
    if not routed:
        return gated_mlp("Qwen3NextMLP", h, c.dim("intermediate_size", default=5632), act=act)
    return sparse_block(
        "Qwen3Next",
        h,
        c.dim("moe_intermediate_size", default=512),
        count=_experts(c),
        per_token=c.dim("num_experts_per_tok", default=10),
        shared=c.dim("shared_expert_intermediate_size", default=512),
        act=act,
    )


def _experts(c: ModelConfig) -> Dim:
    return c.count("num_experts", default=512)


def layer(c: ModelConfig, kind: str, routed: bool) -> Module:
    return Module(
        "Qwen3NextDecoderLayer",
        {
            **_mixer(c, kind),
            "mlp": _mlp(c, routed),
            "input_layernorm": _norm(c, _hidden(c)),
            "post_attention_layernorm": _norm(c, _hidden(c)),
        },
    )


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers", default=48))
    described = list(zip(mixer_types(c, count), sparse_layers(c, count, _experts(c)), strict=True))
    distinct = {entry: layer(c, *entry) for entry in dict.fromkeys(described)}
    return Module(
        "Qwen3NextModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=151936), _hidden(c)),
        layers=Layers(distinct[entry] for entry in described),
        norm=_norm(c, _hidden(c)),
    )


def predictor(c: ModelConfig) -> Module | None:
    """One layer, though the Hub's configs don't mention it."""
    count = int(c.count("mtp_num_hidden_layers", "num_nextn_predict_layers", default=1))
    if not count:
        return None
    block = layer(c, "full_attention", _experts(c) > 0)
    return token_predictor("Qwen3Next", _hidden(c), partial(_norm, c), block, count)


_classes = decoder_classes("Qwen3Next", model, hidden=_hidden, qa_prefix="transformer")

register(
    "qwen3_next",
    {
        **_classes,
        "Qwen3NextForCausalLM": with_predictor(_classes["Qwen3NextForCausalLM"], predictor),
    },
    base="Qwen3NextModel",
    base_prefix="model",
    category="text decoder",
)
