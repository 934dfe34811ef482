"""Ling 2.6 (Ant Group 2026). Source: transformers/models/bailing_hybrid/modeling_bailing_hybrid.py.

One layer in ``layer_group_size`` has latent attention with a gate per head; the others Kimi delta
attention, a linear recurrence over short convolutions. Experts as in DeepSeek-V3. Files say
``attention``, ``dense`` and ``word_embeddings``. The class ties nothing, whatever
tie_word_embeddings says.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import convolved_projections, gated_mlp, layer_types
from ..layers.experts import routed_and_shared
from ..layers.heads import to_words
from ..layers.latent import latent_attention, latent_sizes
from ..trees.catalog import register_pair
from ..trees.keeps import State
from ..trees.modules import Activation, Buffer, Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2560)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return RMSNorm(
        width, eps=c.number("rms_norm_eps", default=1e-6), class_name="BailingHybridRMSNorm"
    )


def _heads(c: ModelConfig) -> Dim:
    return c.dim("num_attention_heads", default=32)


def latent(c: ModelConfig) -> Module:
    bias = c.flag("attention_bias", default=False)
    sizes = latent_sizes(c, heads=32, query_rank=None)
    block = latent_attention("BailingHybrid", _hidden(c), sizes, bias=bias)
    block.children["dense"] = block.children.pop("o_proj")
    block.children["g_proj"] = Linear(_hidden(c), _heads(c), bias=False, kind="gate")
    return block


def delta(c: ModelConfig) -> Module:
    """Kimi delta attention (Kimi Team 2025): q, k, v, gate, forget gate and output, H·(n·d) each.

    A saved config keeps the width of these heads as linear_head_dim, since head_dim becomes that of
    the rotary part.
    """
    h = _hidden(c)
    heads = c.dim("linear_num_heads", default=_heads(c))
    dim = c.dim("linear_head_dim", "head_dim", default=128)
    kernel = c.dim("linear_conv_kernel_dim", "short_conv_kernel_size", default=4)
    width = heads * dim
    norm = Module("BailingHybridRMSNormGated", weight=Weight(dim), component=Component.NORM)
    return Module(
        "BailingHybridDeltaAttention",
        {
            **convolved_projections(h, width, kernel),
            "A_log": Weight(heads),
            "dt_bias": Weight(width),
            "f_proj": Linear(h, width, bias=False),
            "b_proj": Linear(h, heads, bias=False),
            "o_norm": norm,
            "dense": Linear(width, h, bias=False, kind="output"),
            "g_proj": Linear(h, width, bias=False, kind="gate"),
        },
        keeps=(State("recurrent", (width, dim), "F32"),),
        component=Component.SSM,
    )


def moe(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("moe_intermediate_size", default=768)
    count = c.count("num_experts", "num_local_experts", default=512, minimum=1)
    gate = Module(
        "BailingHybridTopkRouter",
        weight=Weight(count, h),
        expert_bias=Buffer(count, dtype="F32"),
        component=Component.ROUTER,
    )
    return routed_and_shared(
        "BailingHybrid",
        h,
        inner,
        count=count,
        per_token=c.count("num_experts_per_token", "num_experts_per_tok", default=8),
        shared=inner * c.count("num_shared_experts", "n_shared_experts", default=1),
        gate=gate,
        act=c.text("hidden_act", default="silu"),
    )


def layer(c: ModelConfig, mixes: str, mlp: str) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=6144)
    act = c.text("hidden_act", default="silu")
    return Module(
        "BailingHybridDecoderLayer",
        attention=latent(c) if mixes == "full_attention" else delta(c),
        mlp=moe(c) if mlp == "sparse" else gated_mlp("BailingHybridMLP", h, inner, act=act),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def layers(c: ModelConfig) -> Layers:
    count = c.count("num_hidden_layers", default=42)
    every = c.dim("layer_group_size", default=6)
    first = c.count("first_k_dense_replace", default=2)
    mixes = layer_types(
        c, count, lambda i: "linear_attention" if (i + 1) % every else "full_attention"
    )
    mlps = layer_types(
        c, count, lambda i: "dense" if i < first else "sparse", key="mlp_layer_types"
    )
    kinds = list(zip(mixes, mlps, strict=True))
    built = {kind: layer(c, *kind) for kind in set(kinds)}
    return Layers(built[kind] for kind in kinds)


def model(c: ModelConfig, *, words: str = "word_embeddings") -> Module:
    return Module(
        "BailingHybridModel",
        {
            words: Embedding(c.dim("vocab_size", default=157184), _hidden(c)),
            "layers": layers(c),
            "norm": _norm(c, _hidden(c)),
            "rotary_emb": Activation("BailingHybridRotaryEmbedding"),
        },
    )


def alone(c: ModelConfig) -> Module:
    """Saved without a head, the table keeps its name in memory."""
    return model(c, words="embed_tokens")


def causal(c: ModelConfig) -> Module:
    head = to_words(_hidden(c), c.dim("vocab_size", default=157184))
    return Module("BailingHybridForCausalLM", model=model(c), lm_head=head)


register_pair(
    "bailing_hybrid", "BailingHybrid", causal, alone, "text decoder", ending="ForCausalLM"
)
