"""MiMo-V2-Flash (Xiaomi 2025). Source of shapes: transformers/models/mimo_v2_flash; names of files:
transformers/conversion_mapping.py.

Sliding layers have twice the key heads and a sink per head; values are narrower than queries and
keys; but for the first, every layer has experts with DeepSeek-V3's corrected router, none shared.

Files on the Hub hold three more layers, ``model.mtp``, that predict further tokens: sliding
attention and a dense MLP; transformers drops them. Their names and shapes: SGLang,
srt/models/mimo_v2_nextn.py, and sglang-jax's mimo_v2_flash_nextn.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, layer_types
from ..layers.experts import corrected_router, routed_and_shared
from ..layers.heads import decoder_classes
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="MiMoV2FlashRMSNorm")


def attention(c: ModelConfig, kind: str) -> Module:
    h, bias = _hidden(c), c.flag("attention_bias", default=False)
    slides = kind == "sliding_attention"
    heads, groups = (
        c.dim("num_attention_heads", default=64),
        c.dim("num_key_value_heads", default=4),
    )
    kv = groups * 2 if slides else groups
    dim, value = c.dim("head_dim", default=192), c.dim("v_head_dim", default=128)
    return Module(
        "MiMoV2FlashAttention",
        q_proj=Linear(h, heads * dim, bias=bias, kind="query"),
        k_proj=Linear(h, kv * dim, bias=bias, kind="key"),
        v_proj=Linear(h, kv * value, bias=bias, kind="value"),
        o_proj=Linear(heads * value, h, bias=False, kind="output"),
        attention_sink_bias=Weight(heads, kind="sink") if slides else None,
        component=Component.ATTENTION,
    )


def mlp(c: ModelConfig, kind: str) -> Module:
    h, act = _hidden(c), c.text("hidden_act", default="silu")
    if kind == "dense":
        inner = c.dim("intermediate_size", default=16384)
        return gated_mlp("MiMoV2FlashMLP", h, inner, act=act)
    count = c.count("n_routed_experts", "num_local_experts", default=256)
    return routed_and_shared(
        "MiMoV2Flash",
        h,
        c.dim("moe_intermediate_size", default=2048),
        count=count,
        per_token=c.dim("num_experts_per_tok", default=8),
        shared=None,
        gate=corrected_router("MiMoV2FlashTopkRouter", h, count),
        act=act,
    )


def layer(c: ModelConfig, attention_kind: str, mlp_kind: str) -> Module:
    return Module(
        "MiMoV2FlashDecoderLayer",
        self_attn=attention(c, attention_kind),
        mlp=mlp(c, mlp_kind),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def predictor(c: ModelConfig) -> Module | None:
    """Three layers unless the config says otherwise; the Hub's does not mention them."""
    count = int(c.count("num_nextn_predict_layers", "num_mtp_layers", default=3))
    if not count:
        return None
    h = _hidden(c)
    row = Module(
        "MiMoV2MTPLayer",
        enorm=_norm(c),
        hnorm=_norm(c),
        eh_proj=Linear(h * 2, h, bias=False, component=Component.PROJECTOR),
        input_layernorm=_norm(c),
        self_attn=attention(c, "sliding_attention"),
        pre_mlp_layernorm=_norm(c),
        mlp=mlp(c, "dense"),
        final_layernorm=_norm(c),
    )
    return Module(
        "MiMoV2MTP", layers=Layers([row] * count), part="mtp", kind="mtp", saved=False
    )  # fmt: skip


def _types(c: ModelConfig, layers: int) -> Sequence[tuple[str, str]]:
    attentions = layer_types(
        c,
        layers,
        lambda i: "sliding_attention" if i and (i + 1) % 6 else "full_attention",
    )
    mlps = layer_types(c, layers, lambda i: "sparse" if i else "dense", key="mlp_layer_types")
    for kind in mlps:
        if kind not in ("dense", "sparse"):
            raise c.error("mlp_layer_types", kind, "dense or sparse")
    return list(zip(attentions, mlps, strict=True))


def model(c: ModelConfig) -> Module:
    described = _types(c, int(c.count("num_hidden_layers", default=48)))
    distinct = {entry: layer(c, *entry) for entry in dict.fromkeys(described)}
    return Module(
        "MiMoV2FlashModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=152576), _hidden(c)),
        layers=Layers(
            (distinct[entry] for entry in described),
            windows=windows(c, 129, lambda i, _: i == 0 or (i + 1) % 6 == 0),
        ),
        norm=_norm(c),
        mtp=predictor(c),
    )


register(
    "mimo_v2_flash",
    decoder_classes("MiMoV2Flash", model, heads=()),
    base="MiMoV2FlashModel",
    base_prefix="model",
    category="text decoder",
)
