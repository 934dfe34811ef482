"""Hunyuan 4 (Tencent 2026). Source of shapes: transformers/models/hy_v4; names of files:
transformers/conversion_mapping.py.

DeepSeek-V3.2's latent attention and indexer with a gate and sinks, several residual streams with
hyper-connections, and experts that files hold stacked.  A fresh save calls every ``gate_proj``
``linear_gate``, those of MLPs too.
"""

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, layer_types
from ..layers.experts import corrected_router, shared_width
from ..layers.heads import decoder_classes
from ..layers.latent import latent_attention, latent_sizes
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm, Weight
from .deepseek_v32 import indexer


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2816)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="HYV4RMSNorm")


def attention(c: ModelConfig, kind: str) -> Module:
    h = _hidden(c)
    sizes = latent_sizes(c, heads=32, plain=192, value=256)
    block = latent_attention("HYV4", h, sizes, bias=c.flag("attention_bias", default=False))
    if kind == "full":
        block.children["indexer"] = indexer(c, "HYV4", h, sizes, heads=16)
    block.children["linear_gate"] = Linear(h, sizes.heads * sizes.value, bias=False, kind="gate")
    block.children["learnable_sink_param"] = Weight(sizes.heads, kind="sink")
    return block


def gated(c: ModelConfig, inner: Dim, kind: str | None = None) -> Module:
    h = _hidden(c)
    return Module(
        "HYV4MLP",
        linear_gate=Linear(h, inner, bias=False, kind=kind or "gate"),
        up_proj=Linear(h, inner, bias=False, kind=kind or "up"),
        down_proj=Linear(inner, h, bias=False, kind=kind or "down"),
        act_fn=activation(c.text("hidden_act", default="silu")),
        component=Component.MLP,
    )


def mlp(c: ModelConfig, kind: str) -> Module:
    if kind == "dense":
        return gated(c, c.dim("intermediate_size", default=6912))
    h, inner = _hidden(c), c.dim("moe_intermediate_size", default=768)
    count = c.count("n_routed_experts", "num_local_experts", default=256, minimum=1)
    per_token = c.dim("num_experts_per_tok", default=8)
    shared = shared_width(c, inner, default=1)
    return Module(
        "HYV4MoE",
        experts=Module(
            "HYV4Experts",
            gate_up_proj=Weight(count, inner * 2, h),
            down_proj=Weight(count, h, inner),
            kind="expert",
            active=(min(int(per_token), int(count)), int(count)),
        ),
        gate=corrected_router("HYV4TopkRouter", h, count),
        shared_experts=gated(c, shared, "shared_expert") if shared else None,
        component=Component.MLP,
    )


def connection(c: ModelConfig) -> Module:
    """How m streams join before a block (m weights) and receive its output (m weights)."""
    streams = c.dim("hc_mult", default=4)
    return Module(
        "HYV4HyperConnection",
        hc_fn=Weight(streams * 2, streams * _hidden(c)),
        hc_base=Weight(streams * 2),
        hc_scale=Weight(2),
    )


def layer(c: ModelConfig, mlp_kind: str, indexer_kind: str) -> Module:
    return Module(
        "HYV4DecoderLayer",
        self_attn=attention(c, indexer_kind),
        mlp=mlp(c, mlp_kind),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
        hc_pre=Module(
            "HyperConnections", hc_attn_layer=connection(c), hc_mlp_layer=connection(c)
        ),
    )  # fmt: skip


def _types(c: ModelConfig, layers: int) -> Sequence[tuple[str, str]]:
    mlps = layer_types(c, layers, lambda i: "sparse" if i else "dense", key="mlp_layer_types")
    indexers = layer_types(
        c, layers, lambda i: "shared" if i and (i - 1) % 4 else "full", key="indexer_types"
    )
    for key, found, allowed in (
        ("mlp_layer_types", mlps, ("dense", "sparse")),
        ("indexer_types", indexers, ("full", "shared")),
    ):
        for word in found:
            if word not in allowed:
                raise c.error(key, word, " or ".join(allowed))
    return list(zip(mlps, indexers, strict=True))


def model(c: ModelConfig) -> Module:
    described = _types(c, int(c.count("num_hidden_layers", default=34)))
    distinct = {entry: layer(c, *entry) for entry in dict.fromkeys(described)}
    return Module(
        "HYV4Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=120832), _hidden(c)),
        layers=Layers(distinct[entry] for entry in described),
        norm=_norm(c),
        hc_pre=Module("HyperConnections", hc_head=joining(c)),
    )


def joining(c: ModelConfig) -> Module:
    """How the streams join at the end."""
    streams = c.dim("hc_mult", default=4)
    return Module(
        "HYV4HyperHead",
        hc_head_fn=Weight(streams, streams * _hidden(c)),
        hc_head_base=Weight(streams),
        hc_head_scale=Weight(1),
    )


def bare_model(c: ModelConfig) -> Module:
    """The base model as a root: a save then swaps the words of one name."""
    whole = model(c)
    whole.children["hc_head"] = Module("HYV4HyperHead", hc_pre=joining(c))
    del whole.children["hc_pre"]
    return whole


register(
    "hy_v4",
    {**decoder_classes("HYV4", model, heads=()), "HYV4Model": bare_model},
    base_prefix="model",
    category="text decoder",
)
