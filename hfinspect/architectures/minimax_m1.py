"""MiniMax-Text-01 and MiniMax-M1 (MiniMax 2025) as released; transformers' ``minimax`` is the
converted form of the first."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder, block_sparse
from ..trees import Component, Linear, ModelConfig, Module


def _lightning(d: Decoder, c: ModelConfig) -> Module:
    """5·H·(h·d) weights and a norm over all heads: every head has keys and values of its own."""
    h = d.width(c)
    heads = d.heads(c)
    width = heads.query * heads.dim
    return Module(
        f"{d.name}LightningAttention",
        out_proj=Linear(width, h, bias=False, kind="output"),
        norm=d.norm(d, c, width),
        qkv_proj=Linear(h, width * 3, bias=False, kind="qkv"),
        output_gate=Linear(h, width, bias=False, kind="gate"),
        component=Component.SSM,
    )


def _moe(d: Decoder, c: ModelConfig) -> Module:
    shared = c.raw("shared_intermediate_size")
    if shared not in (None, 0):
        raise c.error("shared_intermediate_size", shared, "0, as in every published model")
    parts = m.mixtral(m.counts("num_local_experts", default=8), 2)(d, c)
    parts.inside("gate").called("Linear")
    return parts


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[bool]:
    softmax = list(c.flags("attn_type_list", default=[True] * layers))
    if len(softmax) < layers:
        raise c.error("attn_type_list", softmax, f"one entry for each of {layers} layers")
    return softmax[:layers]


_SOURCE = "modeling_minimax_m1.py and the index of MiniMaxAI/MiniMax-M1-80k"
_M1 = Decoder(
    "MiniMaxM1",
    attention_bias=None,
    moe=_moe,
    kinds=_kinds,
    rotary=False,
    tasks=(),
    layer=lambda d, c, softmax: block_sparse(d, c, "sparse").adding(
        self_attn=None if softmax else _lightning(d, c)
    ),
).register("minimax_m1", source=_SOURCE)
_M1.like("MiniMaxText01").register("minimax_text_01", source=_SOURCE)
