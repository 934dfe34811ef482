"""Hunyuan 4 (Tencent 2026). Source of shapes: transformers/models/hy_v4; names of files:
transformers/conversion_mapping.py.

DeepSeek-V3.2's latent attention and indexer with a gate and sinks, several residual streams with
hyper-connections, and experts that files hold stacked.  A fresh save calls every ``gate_proj``
``linear_gate``, those of MLPs too.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder, gated_of, mixed
from ..layers.experts import shared_width, stacked_experts
from ..layers.latent import indexer, latent_attention, latent_sizes
from ..layers.layer_kinds import mixture, mlps, side_by_side, words
from ..trees.modules import Linear, Module, Weight
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig, *, seeks: bool) -> Module:
    h, sizes = d.width(c), latent_sizes(c, heads=32, plain=192, value=256)
    block = latent_attention("HYV4", h, sizes, bias=c.flag("attention_bias", default=False))
    if seeks:
        block.children["indexer"] = indexer(c, "HYV4", h, sizes, heads=16)
    block.children["linear_gate"] = Linear(h, sizes.heads * sizes.value, bias=False, kind="gate")
    block.children["learnable_sink_param"] = Weight(sizes.heads, kind="sink")
    return block


def _gated(d: Decoder, c: ModelConfig, inner: Dim, kind: str | None = None) -> Module:
    block = gated_of(d, c, inner, kind)
    block.children = {"linear_gate": block.children.pop("gate_proj"), **block.children}
    return block


def _moe(d: Decoder, c: ModelConfig) -> Module:
    inner = c.dim("moe_intermediate_size", default=768)
    count = c.count("n_routed_experts", "num_local_experts", default=256, minimum=1)
    per_token = c.dim("num_experts_per_tok", default=8)
    shared = shared_width(c, inner, default=1)
    stacked = stacked_experts("HYV4Experts", count, per_token, d.width(c), inner)
    block = mixture(d, c, inner, count, per_token)
    block.children["experts"] = stacked
    if shared:
        block.children["shared_experts"] = _gated(d, c, shared, "shared_expert")
    return block


def _connection(c: ModelConfig, h: Dim) -> Module:
    """How m streams join before a block (m weights) and receive its output (m weights)."""
    streams = c.dim("hc_mult", default=4)
    return Module(
        "HYV4HyperConnection",
        hc_fn=Weight(streams * 2, streams * h),
        hc_base=Weight(streams * 2),
        hc_scale=Weight(2),
    )


def _layer(d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    block = mixed(d, c, _attention(d, c, seeks=kind[1] == "full"), kind[0])
    joint = _connection(c, d.width(c))
    streams = Module("HyperConnections", hc_attn_layer=joint, hc_mlp_layer=joint)
    block.children["hc_pre"] = streams
    return block


def _chooses(_c: ModelConfig, i: int) -> str:
    return "shared" if i and (i - 1) % 4 else "full"


def _joining(d: Decoder, c: ModelConfig) -> Module:
    """How the streams join at the end."""
    streams = c.dim("hc_mult", default=4)
    return Module(
        "HYV4HyperHead",
        hc_head_fn=Weight(streams, streams * d.width(c)),
        hc_head_base=Weight(streams),
        hc_head_scale=Weight(1),
    )


_HY = LLAMA.like(
    "HYV4", vocab_size=120832, hidden_size=2816, intermediate_size=6912, num_hidden_layers=34,
    rms_norm_eps=1e-5, mlp=lambda d, c: _gated(d, c, d.inner(c)), moe=_moe, layer=_layer,
    rotary=False, endings=(),
    kinds=side_by_side(mlps(), words(_chooses, "full", "shared", key="indexer_types")),
    further=lambda d, c: {"hc_pre": Module("HyperConnections", hc_head=_joining(d, c))},
)  # fmt: skip
# The base model as a root: a save then swaps the words of one name.
_BARE = _HY.like(
    "HYV4", further=lambda d, c: {"hc_head": Module("HYV4HyperHead", hc_pre=_joining(d, c))}
)
_HY.register("hy_v4", more={"HYV4Model": _BARE.model})
