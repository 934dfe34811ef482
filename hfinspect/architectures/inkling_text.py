"""Inkling's text tower (2026; transformers/models/inkling). Sliding layers have heads of their own;
experts lie stacked, some always on. A tower alone is saved under its names in memory."""

from ..layers.blocks import Heads, depthwise, grouped_attention, size
from ..layers.decoders import Decoder, gated_of, mixed
from ..layers.experts import router, stacked_experts
from ..layers.heads import register_tower
from ..layers.layer_kinds import side_by_side, words
from ..layers.windows import windows
from ..trees import Buffer, Component, Dim, Linear, ModelConfig, Module, State, Weight
from ..trees.config_defaults import config_defaults

SLIDING = "hybrid_sliding"
FULL = "hybrid"
kernel_size = size("conv_kernel_size", "sconv_kernel_size", default=4)


def convolution(c: ModelConfig, width: Dim) -> Module:
    """Of each channel by itself; it keeps its inputs in float32."""
    block = depthwise(width, kernel_size(c), component=Component.CONV)
    block.cache = (State("conv", (width, kernel_size(c)), "F32"),)
    return block


def _wrapped(c: ModelConfig, width: Dim) -> Module:
    plain = convolution(c, width)
    conv = Component.CONV
    cache = plain.cache
    plain.cache = None
    return Module("InklingShortConvolution", conv1d=plain, component=conv, cache=cache)


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


def looking(
    d: Decoder, c: ModelConfig, name: str, heads: Heads, extent: Dim, conv: Module, **norms: Module
) -> Module:
    """Attention whose queries have a part that says what each distance counts; keys and values go
    through a convolution."""
    h = d.width(c)
    relative = c.dim("d_rel", default=16)
    block = grouped_attention(name, h, heads)
    kind = "relative_position"
    proj = Weight(relative, extent, kind=kind)
    return block.adding(
        r_proj=Linear(h, heads.query * relative, bias=False, kind=kind),
        o_proj=block.children.pop("o_proj"),
        k_sconv=conv,
        v_sconv=conv,
        **norms,
        rel_logits_proj=Module(f"{d.name.removesuffix('Text')}RelativeLogits", proj=proj),
    )


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    inner = c.dim("dense_intermediate_size", "intermediate_size", default=24576)
    return gated_of(d, c, inner).adding(global_scale=Weight(1, kind="scale"))


def _moe(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    both = c.has("dense_intermediate_size")
    routed = c.dim("intermediate_size" if both else "moe_intermediate_size", default=3072)
    count = c.count("n_routed_experts", "num_local_experts", default=256, minimum=1)
    shared = c.count("n_shared_experts", default=2)
    per_token = c.dim("num_experts_per_tok", default=6)
    up = Weight(shared, routed, h)
    down = Weight(shared, h, routed)
    return Module(
        "InklingMoE",
        gate=router("InklingTopkRouter", h, count + shared).adding(
            global_scale=Weight(1, kind="scale"), e_score_correction_bias=Buffer(count, dtype="F32")
        ),
        experts=stacked_experts("InklingExperts", count, per_token, h, routed),
        shared_experts=Module(
            "InklingSharedExperts", gate_proj=up, up_proj=up, down_proj=down, kind="shared_expert"
        ),
        component=Component.MLP,
    )


def _layer(d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    heads, extent = heads_of(c, kind[0], query=64, kv=(8, 16), window=512)
    norm = d.norm(d, c, heads.dim)
    conv = _wrapped(c, heads.kv * heads.dim)
    mixer = looking(d, c, "InklingAttention", heads, extent, conv, q_norm=norm, k_norm=norm)
    wide = _wrapped(c, d.width(c))
    return mixed(d, c, mixer, kind).adding(attn_sconv=wide, mlp_sconv=wide)


def _slides(c: ModelConfig, i: int) -> str:
    """``local_layer_ids`` where they are listed, else all but every sixth layer."""
    if not c.has("local_layer_ids"):
        return SLIDING if (i + 1) % 6 else FULL
    return SLIDING if i in c.dims("local_layer_ids", minimum=0) else FULL


_SPARSE = words(
    lambda c, i: "dense" if i < c.count("dense_mlp_idx", default=0) else "sparse",
    key="mlp_layer_types",
)
_TEXT = Decoder(
    "Inkling",
    **config_defaults("inkling_text"),
    mlp=_mlp,
    moe=_moe,
    layer=_layer,
    kinds=side_by_side(words(_slides), _SPARSE),
    windows=lambda c: windows(
        c, 512, lambda i, _: _slides(c, i) == FULL, key="sliding_window_size"
    ),
    rotary=False,
    embedding="NormedEmbedding",
)


def model(c: ModelConfig) -> Module:
    root = _TEXT.named("InklingTextModel", c)
    root.inside("embed_tokens").adding(**_TEXT.norms(c, "embed_norm"))
    return root


register_tower("inkling_text", "Inkling", model, tied=None)
