"""Jamba (AI21 2024; transformers/models/jamba): Mamba layers with norms of the time step and of B
and C, a few with attention; experts in some."""

from ..layers import mixtures as m
from ..layers.decoders import SEQUENCE_HEAD, Decoder, mixed
from ..trees import ModelConfig, Module
from .mamba import selective, time_step_rank

_KEYS = ("mamba_dt_rank", "mamba_d_state", "mamba_d_conv", "mamba_proj_bias", "mamba_conv_bias")
_EXPERTS = m.counts("num_experts", "num_local_experts", default=16, minimum=1)


def _mixer(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    block = selective("JambaMamba", c, h, c.dim("mamba_expand", default=2) * h, _KEYS)
    rank = time_step_rank(c, h, _KEYS[0])
    state = c.dim("mamba_d_state", default=16)
    sizes = {"dt": rank, "b": state, "c": state}
    return block.adding(**{f"{name}_layernorm": d.norm(d, c, sizes[name]) for name in sizes})


def _layer(d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    attends = kind[0] == "attention"
    return mixed(
        d,
        c,
        d.attention(d, c) if attends else _mixer(d, c),
        kind,
        mlp="feed_forward",
        self_attn="self_attn" if attends else "mamba",
        post_attention_layernorm="pre_ff_layernorm",
    ).called(f"Jamba{'Attention' if attends else 'Mamba'}DecoderLayer")


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[str, str]]:
    """Whether a layer attends, and its kind of MLP."""
    every = c.dim("attn_layer_period", default=8)
    each = c.dim("expert_layer_period", default=2)
    at = c.dim("attn_layer_offset", default=4, minimum=0)
    first = c.dim("expert_layer_offset", default=1, minimum=0)
    routes = _EXPERTS(c) > 1
    mixers = ["attention" if i % every == at else "mamba" for i in range(layers)]
    mlps = ["sparse" if routes and i % each == first else "dense" for i in range(layers)]
    return list(zip(mixers, mlps, strict=True))


Decoder(
    "Jamba",
    attention_bias=None,
    layer=_layer,
    kinds=_kinds,
    last_norm="final_layernorm",
    rotary=False,
    tasks=SEQUENCE_HEAD,
    moe=m.sparse(
        "SparseMoeBlock",
        {"router": m.scores(), "experts": m.each},
        count=_EXPERTS,
        used=m.counts("num_experts_per_tok", default=2),
    ),
).register("jamba")
