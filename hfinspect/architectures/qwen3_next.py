"""Qwen3-Next (Qwen team 2025). Source of shapes: transformers/models/qwen3_next.

Three layers in four mix with a gated delta net (linear attention: Yang et al. 2024), the fourth
with gated attention, whose q_proj also yields the output gate; experts as in Qwen2-MoE.

Files on the Hub hold a multi-token-prediction block ``mtp`` that transformers drops; its shapes are
those of vLLM's model_executor/models/qwen3_next_mtp.py.
"""

from collections.abc import Callable
from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import layer_types
from ..layers.decoders import Decoder
from ..layers.experts import sparse_block, sparse_kinds
from ..trees.catalog import Builder
from ..trees.keeps import State
from ..trees.modules import Conv, Layers, Linear, Module, RMSNorm, Weight
from .llama import LLAMA

#: The mixers that transformers knows for these families.
MIXERS = ("linear_attention", "full_attention")


def gated_attention(d: Decoder, c: ModelConfig) -> Module:
    """Grouped attention whose q_proj is twice as wide: the second half gates the output."""
    hidden, heads = d.width(c), d.heads(c)
    bias = c.flag("attention_bias", default=False)
    width, kv_width = heads.query * heads.dim, heads.kv * heads.dim
    return Module(
        f"{d.name}Attention",
        q_proj=Linear(hidden, width * 2, bias=bias, kind="query"),
        k_proj=Linear(hidden, kv_width, bias=bias, kind="key"),
        v_proj=Linear(hidden, kv_width, bias=bias, kind="value"),
        o_proj=Linear(width, hidden, bias=bias, kind="output"),
        q_norm=d.norm(d, c, heads.dim),
        k_norm=d.norm(d, c, heads.dim),
        component=Component.ATTENTION,
    )


def delta_net(d: Decoder, c: ModelConfig, *, fused: bool = False) -> Module:
    """The gated delta net: q, k, v through a short convolution, a decay and a step per value head.

    ``fused``: one projection for q, k, v and the gate z, one for the steps b and decays a;
    else four.
    """
    hidden = d.width(c)
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
        f"{d.name}GatedDeltaNet",
        {
            "dt_bias": Weight(value_heads),
            "A_log": Weight(value_heads),
            "conv1d": Conv(mixed, mixed, kernel, dims=1, groups=mixed, bias=False, component=None),
            **inputs,
            "norm": RMSNorm(value_dim, class_name=f"{d.name}RMSNormGated"),
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


def token_predictor(d: Decoder, c: ModelConfig, kind: object, count: int) -> Module:
    """The block that predicts the token after next: joins embedding and hidden state, runs
    ``count`` layers of that kind; embedding and head are the model's own."""
    h = d.width(c)
    return Module(
        f"{d.name}MultiTokenPredictor",
        fc=Linear(h * 2, h, bias=False, component=Component.PROJECTOR),
        layers=Layers([d.layer(d, c, kind)] * count),
        norm=d.norm(d, c, h),
        pre_fc_norm_hidden=d.norm(d, c, h),
        pre_fc_norm_embedding=d.norm(d, c, h),
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


def routed(count: int, per_token: int) -> Callable[[Decoder, ModelConfig], Module]:
    """So many narrow experts and a gated shared one by default."""

    def moe(d: Decoder, c: ModelConfig) -> Module:
        return sparse_block(
            d.name,
            d.width(c),
            c.dim("moe_intermediate_size", default=512),
            count=c.count("num_experts", default=count),
            per_token=c.dim("num_experts_per_tok", default=per_token),
            shared=c.dim("shared_expert_intermediate_size", default=512),
            act=d.act(c),
        )

    return moe


def layer(d: Decoder, c: ModelConfig, kind: tuple[str, str], *, fused: bool = False) -> Module:
    """A mixer and an MLP of those kinds, each after a norm."""
    linear, h = kind[0] == "linear_attention", d.width(c)
    return Module(
        f"{d.name}DecoderLayer",
        {
            "linear_attn" if linear else "self_attn": delta_net(d, c, fused=fused)
            if linear
            else d.attention(d, c),
            "mlp": d.feed_forward(c, kind[1]),
            "input_layernorm": d.norm(d, c, h),
            "post_attention_layernorm": d.norm(d, c, h),
        },
    )


def _sparse(c: ModelConfig, layers: int) -> list[str]:
    return sparse_kinds(c, layers, c.count("num_experts", default=512))


_NEXT = LLAMA.like(
    "Qwen3Next", vocab_size=151936, hidden_size=2048, intermediate_size=5632, num_hidden_layers=48,
    num_attention_heads=16, num_key_value_heads=2, head_dim=256, mlp_bias=None,
    attention=gated_attention, moe=routed(512, 10), layer=partial(layer, fused=True), rotary=False,
    kinds=lambda _d, c, layers: list(zip(mixer_types(c, layers), _sparse(c, layers), strict=True)),
)  # fmt: skip


def predictor(c: ModelConfig) -> Module | None:
    """One layer, though the Hub's configs don't mention it."""
    count = int(c.count("mtp_num_hidden_layers", "num_nextn_predict_layers", default=1))
    routes = c.count("num_experts", default=512) > 0
    kind = ("full_attention", "sparse" if routes else "dense")
    return token_predictor(_NEXT, c, kind, count) if count else None


_causal = with_predictor(_NEXT.classes()["Qwen3NextForCausalLM"], predictor)
_NEXT.register("qwen3_next", more={"Qwen3NextForCausalLM": _causal})
