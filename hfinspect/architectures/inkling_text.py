"""Inkling's text tower (2026; transformers/models/inkling). Sliding layers have heads of their own
number and width; routed experts with a second kind that is always on. Experts lie stacked; a tower
alone is saved under its names in memory."""

from ..layers.blocks import Heads, depthwise, size
from ..layers.decoders import Decoder, gated_of, mixed
from ..layers.experts import router, stacked_experts
from ..layers.heads import register_tower
from ..layers.layer_kinds import side_by_side, words
from ..layers.windows import windows
from ..trees import Buffer, Component, Dim, Linear, ModelConfig, Module, State, Weight, Windows
from .llama import LLAMA

SLIDING, FULL = "hybrid_sliding", "hybrid"


kernel_size = size("conv_kernel_size", "sconv_kernel_size", default=4)


def convolution(c: ModelConfig, width: Dim) -> Module:
    """Of each channel by itself; it keeps its inputs in float32."""
    block = depthwise(width, kernel_size(c), component=Component.CONV)
    block.keeps = (State("conv", (width, kernel_size(c)), "F32"),)
    return block


def _wrapped(c: ModelConfig, width: Dim) -> Module:
    plain, conv = convolution(c, width), Component.CONV
    kept, plain.keeps = plain.keeps, None
    return Module("InklingShortConvolution", conv1d=plain, component=conv, keeps=kept)


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
    h, relative = d.width(c), c.dim("d_rel", default=16)
    heads, extent = heads_of(c, kind, query=64, kv=(8, 16), window=512)
    width, kv_width = heads.query * heads.dim, heads.kv * heads.dim
    return Module(
        "InklingAttention",
        q_proj=Linear(h, width, bias=False, kind="query"),
        k_proj=Linear(h, kv_width, bias=False, kind="key"),
        v_proj=Linear(h, kv_width, bias=False, kind="value"),
        r_proj=Linear(h, heads.query * relative, bias=False, kind="relative_position"),
        o_proj=Linear(width, h, bias=False, kind="output"),
        k_sconv=_wrapped(c, kv_width),
        v_sconv=_wrapped(c, kv_width),
        q_norm=d.norm(d, c, heads.dim),
        k_norm=d.norm(d, c, heads.dim),
        rel_logits_proj=relative_logits("Inkling", relative, extent),
        component=Component.ATTENTION,
    )


def relative_logits(name: str, relative: Dim, extent: Dim) -> Module:
    """What a query's relative part makes of each distance."""
    proj = Weight(relative, extent, kind="relative_position")
    return Module(f"{name}RelativeLogits", proj=proj)


def mlp(d: Decoder, c: ModelConfig) -> Module:
    inner = c.dim("dense_intermediate_size", "intermediate_size", default=24576)
    return gated_of(d, c, inner).adding(global_scale=Weight(1, kind="scale"))


def moe(d: Decoder, c: ModelConfig) -> Module:
    h, both = d.width(c), c.has("dense_intermediate_size")
    routed = c.dim("intermediate_size" if both else "moe_intermediate_size", default=3072)
    count = c.count("n_routed_experts", "num_local_experts", default=256, minimum=1)
    shared = c.count("n_shared_experts", default=2)
    per_token = c.dim("num_experts_per_tok", default=6)
    gate = router("InklingTopkRouter", h, count + shared).adding(
        global_scale=Weight(1, kind="scale"), e_score_correction_bias=Buffer(count, dtype="F32")
    )
    up, down = Weight(shared, routed, h), Weight(shared, h, routed)
    parts = {"gate_proj": up, "up_proj": up, "down_proj": down}
    always = Module("InklingSharedExperts", dict(parts), kind="shared_expert")
    experts = stacked_experts("InklingExperts", count, per_token, h, routed)
    block = Module("InklingMoE", gate=gate, experts=experts, component=Component.MLP)
    return block.adding(shared_experts=always)


def layer(d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    conv = _wrapped(c, d.width(c))
    return mixed(d, c, attention(d, c, kind[0]), kind).adding(attn_sconv=conv, mlp_sconv=conv)


def _slides(c: ModelConfig, i: int) -> str:
    """``local_layer_ids`` where they are listed, else all but every sixth layer."""
    if not c.has("local_layer_ids"):
        return SLIDING if (i + 1) % 6 else FULL
    return SLIDING if i in c.dims("local_layer_ids", minimum=0) else FULL


def _sparse(c: ModelConfig, i: int) -> str:
    return "dense" if i < c.count("dense_mlp_idx", default=0) else "sparse"


def _windows(c: ModelConfig) -> Windows:
    return windows(c, 512, lambda i, _: _slides(c, i) == FULL, key="sliding_window_size")


_TEXT = LLAMA.like(
    "Inkling", vocab_size=201024, hidden_size=6144, num_hidden_layers=66,
    mlp=mlp, moe=moe, layer=layer, windows=_windows,
    kinds=side_by_side(words(_slides), words(_sparse, key="mlp_layer_types")), rotary=False,
    embedding="NormedEmbedding",
)  # fmt: skip


def model(c: ModelConfig) -> Module:
    root = _TEXT.named("InklingTextModel", c)
    root.inside("embed_tokens").adding(**_TEXT.norms(c, "embed_norm"))
    return root


register_tower("inkling_text", "Inkling", model, tied=None)
