"""Ling 2.6 (Ant Group 2026; transformers/models/bailing_hybrid). The class ties nothing, whatever
tie_word_embeddings says."""

from ..core.library_versions import REVISED
from ..layers import mixtures as m
from ..layers.blocks import convolved_projections
from ..layers.composing import respelled
from ..layers.decoders import Decoder, attends, mixing, of_kind
from ..layers.latent_decoders import dense_first, latent
from ..layers.layer_kinds import every_nth, side_by_side, words
from ..trees import Component, Linear, ModelConfig, Module, State, Weight, config_defaults


def _attention(d: Decoder, c: ModelConfig) -> Module:
    if c.saved_between("5", REVISED):  # these releases read no such key
        c = c.with_values(q_lora_rank=None)
    block = latent(query_rank=None)(d, c)
    heads = c.dim("num_attention_heads", default=32)
    gate = Linear(d.width(c), heads, bias=False, kind="gate")
    return respelled(block.adding(g_proj=gate), {"o_proj": "dense"})


def _delta(d: Decoder, c: ModelConfig, _kind: object) -> Module:
    """Kimi delta attention (Kimi Team 2025). A saved config keeps the width of these heads as
    linear_head_dim, since head_dim becomes that of the rotary part."""
    h = d.width(c)
    heads = c.dim("linear_num_heads", default=d.size(c, "num_attention_heads"))
    dim = c.dim("linear_head_dim", "head_dim", default=128)
    kernel = c.dim("linear_conv_kernel_dim", "short_conv_kernel_size", default=4)
    width = heads * dim
    norm = Module("BailingHybridRMSNormGated", weight=Weight(dim), component=Component.NORM)
    return Module(
        "BailingHybridDeltaAttention",
        convolved_projections(h, width, kernel),
        A_log=Weight(heads),
        dt_bias=Weight(width),
        f_proj=Linear(h, width, bias=False),
        b_proj=Linear(h, heads, bias=False),
        o_norm=norm,
        dense=Linear(width, h, bias=False, kind="output"),
        g_proj=Linear(h, width, bias=False, kind="gate"),
        cache=(State("recurrent", (width, dim), "F32"),),
        component=Component.SSM,
    )


_BIAS = {"e_score_correction_bias": "expert_bias"}
_LING = Decoder(
    "BailingHybrid",
    **config_defaults("bailing_hybrid"),
    tie_word_embeddings=None,
    table="word_embeddings",
    attention=_attention,
    tasks=(),
    layer=mixing(of_kind("full_attention", attends, _delta), self_attn="attention"),
    kinds=side_by_side(
        words(every_nth("layer_group_size", 6, "full_attention")), dense_first(2, listed=True)
    ),
    moe=m.sparse(
        "MoE",
        {**m.DEEPSEEK, "gate": lambda x: respelled(m.corrected()(x), _BIAS)},
        inner=768,
        count=m.counts("num_experts", "num_local_experts", default=512, minimum=1),
        used=m.counts("num_experts_per_token", "num_experts_per_tok", default=8),
        shared=m.several("num_shared_experts", "n_shared_experts", default=1),
    ),
)
# Saved without a head, the table keeps its name in memory.
_ALONE = _LING.like("BailingHybrid", table="embed_tokens")
_LING.register("bailing_hybrid", more={"BailingHybridModel": _ALONE.model})
