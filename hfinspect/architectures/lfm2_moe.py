"""LFM2-MoE (Liquid AI 2025). Source of shapes: transformers/models/lfm2_moe.

Short convolutions and grouped attention by layer_types; after the first dense layers, experts in
Mixtral's spelling with a bias for balance, a buffer in float32.
"""

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.experts import experts, router
from ..layers.heads import lm_head
from ..trees.catalog import register_pair
from ..trees.modules import Conv, Embedding, Layers, Linear, Module, Parameter, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig, size: int) -> Module:
    return RMSNorm(size, eps=c.number("norm_eps", default=1e-5), class_name="Lfm2MoeRMSNorm")


def _three(c: ModelConfig, inner: Dim) -> Module:
    h = _hidden(c)
    return Module(
        "Lfm2MoeMLP",
        w1=Linear(h, inner, bias=False),
        w3=Linear(h, inner, bias=False),
        w2=Linear(inner, h, bias=False),
        component=Component.MLP,
    )


def sparse(c: ModelConfig) -> Module:
    h, count = _hidden(c), c.count("num_experts", default=32)
    per_token = c.dim("num_experts_per_tok", default=4)
    bias = Parameter((count,), role=Role.BUFFER, dtype="F32", component=Component.ROUTER)
    inner = c.dim("moe_intermediate_size", default=1792)
    return Module(
        "Lfm2MoeSparseMoeBlock",
        experts=experts(count, per_token, _three(c, inner), class_name="Lfm2MoeExperts"),
        gate=router("Lfm2MoeTopKRouter", h, count),
        expert_bias=bias if c.flag("use_expert_bias", default=True) else None,
        component=Component.MLP,
    )


def _mixer(c: ModelConfig, kind: str) -> dict[str, Module]:
    h = _hidden(c)
    if kind != "conv":
        heads = grouped_heads(c, h, heads=32, kv=8)
        attention = grouped_attention(
            "Lfm2MoeAttention",
            h,
            heads,
            out="out_proj",
            norms=lambda: {
                "q_layernorm": _norm(c, heads.dim),
                "k_layernorm": _norm(c, heads.dim),
            },
        )
        return {"self_attn": attention}
    bias, kernel = c.flag("conv_bias", default=False), c.dim("conv_L_cache", default=3)
    convolution = Module(
        "Lfm2MoeShortConv",
        conv=Conv(h, h, kernel, dims=1, groups=h, bias=bias),
        in_proj=Linear(h, 3 * h, bias=bias),
        out_proj=Linear(h, h, bias=bias),
        component=Component.CONV,
    )
    return {"conv": convolution}


def layer(c: ModelConfig, kind: str, routed: bool) -> Module:
    inner = c.dim("intermediate_size", default=7168)
    return Module(
        "Lfm2MoeDecoderLayer",
        {
            **_mixer(c, kind),
            "feed_forward": sparse(c) if routed else _three(c, inner),
            "operator_norm": _norm(c, _hidden(c)),
            "ffn_norm": _norm(c, _hidden(c)),
        },
    )


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers", default=32))
    dense = int(c.count("num_dense_layers", default=2))
    kinds = c.strings("layer_types")  # the class has no default for it
    if len(kinds) != count:
        raise c.error("layer_types", f"{len(kinds)} entries", f"one for each of {count} layers")
    described = [(kind, i >= dense) for i, kind in enumerate(kinds)]
    distinct = {entry: layer(c, *entry) for entry in dict.fromkeys(described)}
    return Module(
        "Lfm2MoeModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=65536), _hidden(c)),
        layers=Layers(distinct[entry] for entry in described),
        embedding_norm=_norm(c, _hidden(c)),
    )


def causal(c: ModelConfig) -> Module:
    tied = c.flag("tie_embedding", "tie_word_embeddings", default=True)
    head = lm_head(
        ModelConfig({}),
        _hidden(c),
        c.dim("vocab_size", default=65536),
        tied_to="model.embed_tokens.weight",
        tied_default=tied,
    )
    return Module("Lfm2MoeForCausalLM", model=model(c), lm_head=head)


register_pair("lfm2_moe", "Lfm2Moe", causal, model, "text decoder", ending="ForCausalLM")
