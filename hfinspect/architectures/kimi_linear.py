"""Kimi Linear (Moonshot AI 2025; transformers/models/kimi_linear; conversion_mapping.py). A fresh
save also puts the dense first MLP under ``block_sparse_moe``; on the Hub it is ``mlp``."""

from ..layers import mixtures as m
from ..layers.blocks import convolved_projections, size
from ..layers.decoders import Decoder, mixed
from ..layers.latent_decoders import dense_first, latent
from ..layers.layer_kinds import side_by_side, words
from ..trees import Component, Linear, ModelConfig, Module, Parameter, RMSNorm, State, Weight


def delta_attention(
    d: Decoder,
    c: ModelConfig,
    *,
    heads: int = 32,
    kind: str | None = None,
    order: tuple[str, ...] = ("f_a", "f_b", "dt_bias", "A_log", "b", "g_a", "g_b"),
) -> Module:
    """The nested spelling of a size wins, as in the config class; ``kind`` is that of the gates,
    ``order`` the one of what stands between the convolutions and the output."""
    h = d.width(c)
    kda = c.section("linear_attn_config")
    dim = kda.dim("head_dim", default=c.dim("linear_head_dim", default=128))
    count = kda.dim("num_heads", default=c.dim("linear_num_heads", default=heads))
    kernel = kda.dim("short_conv_kernel_size", default=c.dim("linear_conv_kernel_dim", default=4))
    width = dim * count
    first = Linear(h, dim, bias=False, kind=kind)
    last = Linear(dim, width, bias=False, kind=kind)
    gates: dict[str, Module | Parameter] = {
        "f_a": first,
        "f_b": last,
        "g_a": first,
        "g_b": last,
        "b": Linear(h, count, bias=False, kind=kind),
        "dt_bias": Weight(width),
        "A_log": Weight(1, 1, count, 1),
    }
    ordered = {f"{at}_proj" if len(at) < 4 else at: gates[at] for at in order}
    return Module(
        f"{d.name}DeltaAttention",
        {**convolved_projections(h, width, kernel), **ordered},
        o_norm=RMSNorm(dim, class_name=f"{d.name}RMSNormGated"),
        o_proj=Linear(width, h, bias=False, kind="output"),
        component=Component.SSM,
        cache=(State("recurrent", (width, dim), "F32"),),
    )


def _layer(d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    mixer = d.attention(d, c) if kind[0] == "full_attention" else delta_attention(d, c)
    block = mixed(d, c, mixer, kind, mlp="block_sparse_moe")
    if kind[1] == "dense":
        block.children["mlp"] = older = d.mlp(d, c)
        older.saved = False
    return block


_USUAL = words(lambda _c, i: "full_attention" if i and i % 4 == 0 else "linear_attention")


def _attention_types(d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    """layer_types, else the lists of linear_attn_config (counted from 1), else by the pattern."""
    older = c.section("linear_attn_config")
    if c.has("layer_types") or not (older.has("full_attn_layers") and older.has("kda_layers")):
        return list(_USUAL(d, c, layers))
    kinds = {"full_attn_layers": "full_attention", "kda_layers": "linear_attention"}
    kind_of = {int(i): kind for key, kind in kinds.items() for i in older.dims(key)}
    if sorted(kind_of) != list(range(1, layers + 1)):
        expected = f"with full_attn_layers all of 1 to {layers}"
        raise older.error("kda_layers", sorted(kind_of), expected)
    return [kind_of[i] for i in range(1, layers + 1)]


Decoder(
    "KimiLinear",
    attention=latent(query_rank=None),
    layer=_layer,
    kinds=side_by_side(_attention_types, dense_first(1, listed=True)),
    rotary=False,
    tie_word_embeddings=None,
    tasks=(),
    moe=m.sparse(
        "MoE",
        {**m.DEEPSEEK, "experts": m.lettered()},
        count=m.counts("num_local_experts", "num_experts", default=256),
        inner=1024,
        used=size("num_experts_per_tok", "num_experts_per_token", default=8),
        shared=lambda c, w: w * c.dim("n_shared_experts", "num_shared_experts", default=1),
    ),
).register("kimi_linear")
