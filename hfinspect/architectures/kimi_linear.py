"""Kimi Linear (Moonshot AI 2025). Source of shapes: transformers/models/kimi_linear; names of
files: transformers/conversion_mapping.py.

Three layers in four mix with Kimi delta attention (short convolutions, a forget gate of low rank),
the others with DeepSeek-V3's latent attention; experts as there.  A fresh save also puts the dense
first MLP under ``block_sparse_moe``; on the Hub it is ``mlp``.  The head is never tied.
"""

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import convolved_projections
from ..layers.decoders import Decoder, mixed
from ..layers.experts import experts, w_expert
from ..layers.latent_decoders import dense_first, latent
from ..layers.layer_kinds import mixture, side_by_side, words
from ..trees.keeps import State
from ..trees.modules import Linear, Module, RMSNorm, Weight
from .llama import LLAMA


def delta_attention(d: Decoder, c: ModelConfig) -> Module:
    """The nested spelling of a size wins, as in the config class."""
    h, own = d.width(c), c.section("linear_attn_config")
    dim = own.dim("head_dim", default=c.dim("linear_head_dim", default=128))
    heads = own.dim("num_heads", default=c.dim("linear_num_heads", default=32))
    kernel = own.dim("short_conv_kernel_size", default=c.dim("linear_conv_kernel_dim", default=4))
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
    inner = c.dim("moe_intermediate_size", default=1024)
    count = c.count("num_local_experts", "num_experts", default=256)
    per_token = c.dim("num_experts_per_tok", "num_experts_per_token", default=8)
    shared = inner * c.dim("n_shared_experts", "num_shared_experts", default=1)
    block = mixture(d, c, inner, count, per_token, shared)
    expert = w_expert("KimiLinearMLP", d.width(c), inner, act=d.act(c) or "Identity")
    block.children["experts"] = experts(count, per_token, expert)
    return block


def _layer(d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    mixer = d.attention(d, c) if kind[0] == "full_attention" else delta_attention(d, c)
    block = mixed(d, c, mixer, kind[1], mlp="block_sparse_moe")
    if kind[1] == "dense":
        older = d.mlp(d, c)
        older.saved = False
        block.children["mlp"] = older
    return block


def attention_types(d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
    """layer_types, else the lists of linear_attn_config (counted from 1), else full attention in
    every fourth layer from the fifth on."""
    older = c.section("linear_attn_config")
    if c.has("layer_types") or not (older.has("full_attn_layers") and older.has("kda_layers")):
        usual = words(lambda _c, i: "full_attention" if i and i % 4 == 0 else "linear_attention")
        return usual(d, c, layers)
    found: dict[int, str] = {}
    for key, kind in (("full_attn_layers", "full_attention"), ("kda_layers", "linear_attention")):
        found.update({int(i): kind for i in older.dims(key)})
    if sorted(found) != list(range(1, layers + 1)):
        raise older.error(
            "kda_layers", sorted(found), f"with full_attn_layers all of 1 to {layers}"
        )
    return [found[i] for i in range(1, layers + 1)]


LLAMA.like(
    "KimiLinear", vocab_size=163840, hidden_size=2304, intermediate_size=9216, num_hidden_layers=27,
    rms_norm_eps=1e-5, mlp_bias=None, attention=latent(query_rank=None), moe=_moe, layer=_layer,
    kinds=side_by_side(attention_types, dense_first(1, listed=True)), rotary=False,
    tie_word_embeddings=None, endings=(),
).register("kimi_linear")  # fmt: skip
