"""Ling 2.6 (Ant Group 2026). Source: transformers/models/bailing_hybrid/modeling_bailing_hybrid.py.

One layer in ``layer_group_size`` has latent attention with a gate per head; the others Kimi delta
attention, a linear recurrence over short convolutions. Experts as in DeepSeek-V3. Files say
``attention``, ``dense`` and ``word_embeddings``. The class ties nothing, whatever
tie_word_embeddings says.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import convolved_projections
from ..layers.decoders import Decoder, mixed
from ..layers.experts import router
from ..layers.latent import latent_attention, latent_sizes
from ..layers.latent_decoders import dense_first
from ..layers.layer_kinds import every_nth, mixture, side_by_side, words
from ..trees.keeps import State
from ..trees.modules import Buffer, Linear, Module, Weight
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    sizes, h = latent_sizes(c, heads=32, query_rank=None), d.width(c)
    block = latent_attention(d.name, h, sizes, bias=c.flag("attention_bias", default=False))
    block.children["dense"] = block.children.pop("o_proj")
    block.children["g_proj"] = Linear(h, sizes.heads, bias=False, kind="gate")
    return block


def _delta(d: Decoder, c: ModelConfig) -> Module:
    """Kimi delta attention (Kimi Team 2025): q, k, v, gate, forget gate and output, H·(n·d) each.

    A saved config keeps the width of these heads as linear_head_dim, since head_dim becomes that of
    the rotary part.
    """
    h = d.width(c)
    heads = c.dim("linear_num_heads", default=d.size(c, "num_attention_heads"))
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


def _moe(d: Decoder, c: ModelConfig) -> Module:
    inner = c.dim("moe_intermediate_size", default=768)
    count = c.count("num_experts", "num_local_experts", default=512, minimum=1)
    gate = router("BailingHybridTopkRouter", d.width(c), count)
    gate.children["expert_bias"] = Buffer(count, dtype="F32")
    return mixture(
        d, c, inner, count, c.count("num_experts_per_token", "num_experts_per_tok", default=8),
        inner * c.count("num_shared_experts", "n_shared_experts", default=1), gate=gate,
    )  # fmt: skip


def _layer(d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    mixer = d.attention(d, c) if kind[0] == "full_attention" else _delta(d, c)
    return mixed(d, c, mixer, kind[1], self_attn="attention")


_LING = LLAMA.like(
    "BailingHybrid", vocab_size=157184, hidden_size=2560, intermediate_size=6144,
    num_hidden_layers=42, mlp_bias=None, tie_word_embeddings=None, table="word_embeddings",
    attention=_attention, moe=_moe, layer=_layer, endings=(),
    kinds=side_by_side(
        words(every_nth("layer_group_size", 6, "full_attention")), dense_first(2, listed=True)
    ),
)  # fmt: skip
# Saved without a head, the table keeps its name in memory.
_ALONE = _LING.like("BailingHybrid", table="embed_tokens")
_LING.register("bailing_hybrid", more={"BailingHybridModel": _ALONE.model})
