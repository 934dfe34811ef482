"""Kimi Linear (Moonshot AI 2025). Source of shapes: transformers/models/kimi_linear; names of
files: transformers/conversion_mapping.py.

Three layers in four mix with Kimi delta attention (short convolutions, a forget gate of low rank),
the others with DeepSeek-V3's latent attention; experts as there.  A fresh save also puts the dense
first MLP under ``block_sparse_moe``; on the Hub it is ``mlp``.  The head is never tied.
"""

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import convolved_projections, gated_mlp, layer_types
from ..layers.decoders import Decoder
from ..layers.experts import corrected_router, experts, w_expert
from ..layers.latent_decoders import latent
from ..trees.keeps import State
from ..trees.modules import Linear, Module, RMSNorm, Weight
from .llama import LLAMA


def _linear_size(c: ModelConfig, key: str, older: str, default: int) -> Dim:
    """The nested spelling wins, as in the config class."""
    own = c.dim(key, default=default)
    return c.section("linear_attn_config").dim(older, default=own)


def delta_attention(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    dim = _linear_size(c, "linear_head_dim", "head_dim", 128)
    heads = _linear_size(c, "linear_num_heads", "num_heads", 32)
    kernel = _linear_size(c, "linear_conv_kernel_dim", "short_conv_kernel_size", 4)
    width = dim * heads
    return Module(
        "KimiLinearDeltaAttention",
        {
            **convolved_projections(h, width, kernel),
            "f_a_proj": Linear(h, dim, bias=False),
            "f_b_proj": Linear(dim, width, bias=False),
            "dt_bias": Weight(width),
            "A_log": Weight(1, 1, heads, 1),
            "b_proj": Linear(h, heads, bias=False),
            "g_a_proj": Linear(h, dim, bias=False),
            "g_b_proj": Linear(dim, width, bias=False),
            "o_norm": RMSNorm(dim, class_name="KimiLinearRMSNormGated"),
            "o_proj": Linear(width, h, bias=False, kind="output"),
        },
        component=Component.SSM,
        keeps=(State("recurrent", (width, dim), "F32"),),
    )


def _moe(d: Decoder, c: ModelConfig) -> Module:
    h, inner = d.width(c), c.dim("moe_intermediate_size", default=1024)
    act = d.act(c)
    count = c.count("num_local_experts", "num_experts", default=256)
    per_token = c.dim("num_experts_per_tok", "num_experts_per_token", default=8)
    shared = inner * c.dim("n_shared_experts", "num_shared_experts", default=1)
    expert = w_expert("KimiLinearMLP", h, inner, act=act or "Identity")
    return Module(
        "KimiLinearMoE",
        experts=experts(count, per_token, expert),
        gate=corrected_router("KimiLinearTopkRouter", h, count),
        shared_experts=gated_mlp("KimiLinearMLP", h, shared, act=act, kind="shared_expert"),
        component=Component.MLP,
    )


def _dense(d: Decoder, c: ModelConfig, *, saved: bool) -> Module:
    mlp = d.mlp(d, c)
    mlp.saved = saved
    return mlp


def _layer(d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    full, routed = kind[0] == "full_attention", kind[1] == "sparse"
    return Module(
        "KimiLinearDecoderLayer",
        self_attn=d.attention(d, c) if full else delta_attention(d, c),
        block_sparse_moe=_moe(d, c) if routed else _dense(d, c, saved=True),
        mlp=None if routed else _dense(d, c, saved=False),
        input_layernorm=d.norm(d, c, d.width(c)),
        post_attention_layernorm=d.norm(d, c, d.width(c)),
    )


def attention_types(c: ModelConfig, layers: int) -> Sequence[str]:
    """layer_types, else the lists of linear_attn_config (counted from 1), else full attention in
    every fourth layer from the fifth on."""
    older = c.section("linear_attn_config")
    if c.has("layer_types") or not (older.has("full_attn_layers") and older.has("kda_layers")):
        return layer_types(
            c, layers, lambda i: "full_attention" if i and i % 4 == 0 else "linear_attention"
        )
    found: dict[int, str] = {}
    for key, kind in (("full_attn_layers", "full_attention"), ("kda_layers", "linear_attention")):
        found.update({int(i): kind for i in older.dims(key)})
    if sorted(found) != list(range(1, layers + 1)):
        raise older.error(
            "kda_layers", sorted(found), f"with full_attn_layers all of 1 to {layers}"
        )
    return [found[i] for i in range(1, layers + 1)]


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[str, str]]:
    first = int(c.count("first_k_dense_replace", default=1))
    mlps = layer_types(
        c, layers, lambda i: "dense" if i < first else "sparse", key="mlp_layer_types"
    )
    return list(zip(attention_types(c, layers), mlps, strict=True))


LLAMA.like(
    "KimiLinear", vocab_size=163840, hidden_size=2304, intermediate_size=9216, num_hidden_layers=27,
    rms_norm_eps=1e-5, mlp_bias=None, attention=latent(query_rank=None), layer=_layer, kinds=_kinds,
    rotary=False, tie_word_embeddings=None, endings=(),
).register("kimi_linear")  # fmt: skip
