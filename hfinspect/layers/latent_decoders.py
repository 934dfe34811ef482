"""The decoder of DeepSeek-V3 and its descendants: dense layers, then routed and shared experts, and
layers that predict further tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..core.records import dataclass
from ..trees.modules import (
    Embedding,
    Layers,
    Linear,
    Module,
    RMSNorm,
)
from .blocks import gated_mlp, layer_types
from .experts import corrected_router, routed_and_shared, shared_width


def next_token_layer(name: str, layer: Module, hidden: int, vocab: int) -> Module:
    """A multi-token-prediction layer as files hold it: a decoder layer, the projection that joins
    the embedding with the hidden state, and copies of embedding and head."""

    def norm() -> Module:
        return RMSNorm(hidden, class_name=f"{name}RMSNorm")

    shared_head = Module(
        "SharedHead",
        norm=norm(),
        head=Linear(hidden, vocab, bias=False, component=Component.HEAD, kind="lm_head"),
    )
    return Module(
        f"{name}MultiTokenPredictorLayer",
        {
            "embed_tokens": Embedding(vocab, hidden),
            "enorm": norm(),
            "hnorm": norm(),
            "eh_proj": Linear(hidden * 2, hidden, bias=False, component=Component.PROJECTOR),
            **layer.children,
            "shared_head": shared_head,
        },
        part="mtp",
        kind="mtp",
        saved=False,
    )


@dataclass(frozen=True)
class Variant:
    """What the descendants differ in: class name prefix, the config class's own defaults, and the
    attention, built for each word that ``types`` gives to a layer. ``listed``: the class reads
    mlp_layer_types."""

    name: str
    attention: Callable[[ModelConfig, Dim, str], Module]
    vocab: int
    hidden: int
    dense: int
    expert: int
    layers: int
    experts: int
    per_token: int
    first: int
    eps: float = 1e-6
    shared: int = 1
    listed: bool = False
    router: str = "TopkRouter"
    types: Callable[[ModelConfig, int], Sequence[str]] = lambda _, layers: ["full"] * layers

    def width(self, c: ModelConfig) -> Dim:
        """D: the width of the hidden states."""
        return c.dim("hidden_size", default=self.hidden)

    def norm(self, c: ModelConfig, size: int) -> Module:
        """RMSNorm over ``size`` elements: a weight of (size,)."""
        eps = c.number("rms_norm_eps", default=self.eps)
        return RMSNorm(size, eps=eps, class_name=f"{self.name}RMSNorm")


def sparse_or_dense(v: Variant, c: ModelConfig, layers: int) -> Sequence[str]:
    """mlp_layer_types, else ``first_k_dense_replace`` dense layers and then sparse ones."""
    dense = min(int(c.count("first_k_dense_replace", default=v.first)), layers)
    usual = ["dense"] * dense + ["sparse"] * (layers - dense)
    if not v.listed:
        return usual
    found = layer_types(c, layers, usual.__getitem__, key="mlp_layer_types")
    for kind in found:
        if kind not in ("dense", "sparse"):
            raise c.error("mlp_layer_types", kind, "dense or sparse")
    return found


def mlp(v: Variant, c: ModelConfig, kind: str) -> Module:
    """A dense gated MLP, or routed and shared experts."""
    h, act = v.width(c), c.text("hidden_act", default="silu")
    if kind == "dense":
        return gated_mlp(f"{v.name}MLP", h, c.dim("intermediate_size", default=v.dense), act=act)
    inner = c.dim("moe_intermediate_size", default=v.expert)
    count = c.count("n_routed_experts", "num_local_experts", "num_experts", default=v.experts)
    return routed_and_shared(
        v.name,
        h,
        inner,
        count=count,
        per_token=c.dim("num_experts_per_tok", default=v.per_token),
        shared=shared_width(c, inner, default=v.shared),
        gate=corrected_router(f"{v.name}{v.router}", h, count),
        act=act,
    )


def layer(v: Variant, c: ModelConfig, mlp_kind: str, attention_kind: str) -> Module:
    """Attention, MLP and their two norms."""
    h = v.width(c)
    return Module(
        f"{v.name}DecoderLayer",
        self_attn=v.attention(c, h, attention_kind),
        mlp=mlp(v, c, mlp_kind),
        input_layernorm=v.norm(c, h),
        post_attention_layernorm=v.norm(c, h),
    )


def model(v: Variant, c: ModelConfig) -> Module:
    """The decoder; each distinct layer is built once. After the layers, those of multi-token
    prediction, as many as the config says."""
    h, vocab = v.width(c), c.dim("vocab_size", default=v.vocab)
    count = int(c.count("num_hidden_layers", default=v.layers))
    described = list(zip(sparse_or_dense(v, c, count), v.types(c, count), strict=True))
    distinct = {entry: layer(v, c, *entry) for entry in dict.fromkeys(described)}
    layers = [distinct[entry] for entry in described]
    more = int(c.count("num_nextn_predict_layers", "num_mtp_layers", default=0))
    if more:
        routed = distinct.get(("sparse", "full")) or layer(v, c, "sparse", "full")
        layers += [next_token_layer(v.name, routed, h, vocab)] * more
    return Module(
        f"{v.name}Model",
        embed_tokens=Embedding(vocab, h),
        layers=Layers(layers),
        norm=v.norm(c, h),
    )
