"""Inkling's text tower (2026). Source of shapes: transformers/models/inkling.

Sliding layers have heads of their own number and width; positions come from learned relative
logits; short convolutions after keys, values, attention and MLP; routed experts with a second kind
that is always on.  Experts lie stacked; a tower alone is saved under its names in memory.
"""

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, layer_types
from ..layers.decoders import Decoder, gated_of
from ..layers.experts import stacked_experts
from ..layers.heads import register_tower
from ..layers.windows import every, windows
from ..trees.keeps import State
from ..trees.modules import Buffer, Conv, Linear, Module, Weight, Windows
from .llama import LLAMA

SLIDING, FULL = "hybrid_sliding", "hybrid"


def _convolution(c: ModelConfig, width: Dim) -> Module:
    kernel = c.dim("conv_kernel_size", "sconv_kernel_size", default=4)
    return Module(
        "InklingShortConvolution",
        conv1d=Conv(width, width, kernel, dims=1, groups=width, bias=False),
        component=Component.CONV,
        keeps=(State("conv", (width, kernel), "F32"),),
    )


def heads_of(
    c: ModelConfig, kind: str, *, query: int, kv: tuple[int, int], window: int
) -> tuple[Heads, Dim]:
    """A layer's heads and how far its relative logits reach; ``kv`` are the defaults of full and
    sliding layers."""
    sliding = kind == SLIDING
    at = "swa_" if sliding else ""
    heads = Heads(
        c.dim(f"{at}num_attention_heads", default=query),
        c.dim(f"{at}num_key_value_heads", default=kv[sliding]),
        c.dim(f"{at}head_dim", default=128),
    )
    if sliding:
        return heads, c.dim("sliding_window_size", "sliding_window", default=window)
    return heads, c.dim("rel_extent", default=1024)


def attention(d: Decoder, c: ModelConfig, kind: str) -> Module:
    h = d.width(c)
    heads, extent = heads_of(c, kind, query=64, kv=(8, 16), window=512)
    width, kv_width, relative = (
        heads.query * heads.dim,
        heads.kv * heads.dim,
        c.dim("d_rel", default=16),
    )
    return Module(
        "InklingAttention",
        q_proj=Linear(h, width, bias=False, kind="query"),
        k_proj=Linear(h, kv_width, bias=False, kind="key"),
        v_proj=Linear(h, kv_width, bias=False, kind="value"),
        r_proj=Linear(h, heads.query * relative, bias=False, kind="relative_position"),
        o_proj=Linear(width, h, bias=False, kind="output"),
        k_sconv=_convolution(c, kv_width),
        v_sconv=_convolution(c, kv_width),
        q_norm=d.norm(d, c, heads.dim),
        k_norm=d.norm(d, c, heads.dim),
        rel_logits_proj=Module(
            "InklingRelativeLogits", proj=Weight(relative, extent, kind="relative_position")
        ),
        component=Component.ATTENTION,
    )


def mlp(d: Decoder, c: ModelConfig) -> Module:
    inner = c.dim("dense_intermediate_size", "intermediate_size", default=24576)
    block = gated_of(d, c, inner)
    block.children["global_scale"] = Weight(1, kind="scale")
    return block


def moe(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    both = c.has("dense_intermediate_size")
    routed = c.dim("intermediate_size" if both else "moe_intermediate_size", default=3072)
    count = c.count("n_routed_experts", "num_local_experts", default=256, minimum=1)
    shared = c.count("n_shared_experts", default=2)
    per_token = c.dim("num_experts_per_tok", default=6)
    return Module(
        "InklingMoE",
        gate=Module(
            "InklingTopkRouter",
            weight=Weight(count + shared, h),
            global_scale=Weight(1, kind="scale"),
            e_score_correction_bias=Buffer(count, dtype="F32"),
            component=Component.ROUTER,
        ),
        experts=stacked_experts("InklingExperts", count, per_token, h, routed),
        shared_experts=Module(
            "InklingSharedExperts",
            gate_proj=Weight(shared, routed, h),
            up_proj=Weight(shared, routed, h),
            down_proj=Weight(shared, h, routed),
            kind="shared_expert",
        ),
        component=Component.MLP,
    )


def layer(d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    h = d.width(c)
    return Module(
        "InklingDecoderLayer",
        self_attn=attention(d, c, kind[0]),
        mlp=mlp(d, c) if kind[1] == "dense" else moe(d, c),
        input_layernorm=d.norm(d, c, h),
        post_attention_layernorm=d.norm(d, c, h),
        attn_sconv=_convolution(c, h),
        mlp_sconv=_convolution(c, h),
    )


def _types(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[tuple[str, str]]:
    if c.has("local_layer_ids"):
        local = {int(i) for i in c.dims("local_layer_ids", minimum=0)}
    else:
        local = {i for i in range(layers) if (i + 1) % 6}
    dense = int(c.count("dense_mlp_idx", default=0))
    kinds = layer_types(c, layers, lambda i: SLIDING if i in local else FULL)
    mlps = layer_types(
        c, layers, lambda i: "dense" if i < dense else "sparse", key="mlp_layer_types"
    )
    return list(zip(kinds, mlps, strict=True))


def _windows(c: ModelConfig) -> Windows:
    """``local_layer_ids`` where they are listed, else all but every sixth layer."""
    local = c.raw("local_layer_ids")
    usual = every(6)
    full = (lambda i, _: i not in local) if isinstance(local, list) else usual
    return windows(c, 512, full, key="sliding_window_size")


_TEXT = LLAMA.like(
    "Inkling", vocab_size=201024, hidden_size=6144, num_hidden_layers=66,
    layer=layer, kinds=_types, windows=_windows, embedding="NormedEmbedding", rotary=False,
)  # fmt: skip


def model(c: ModelConfig) -> Module:
    root = _TEXT.named("InklingTextModel", c)
    root.inside("embed_tokens").children["embed_norm"] = _TEXT.norm(_TEXT, c, _TEXT.width(c))
    return root


register_tower("inkling_text", "Inkling", model, tied=None)
