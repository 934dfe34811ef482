"""MiniMax-01 (MiniMax 2025; transformers/models/minimax). Softmax and lightning (linear) attention
by turns; the decays of the latter are saved buffers."""

from ..layers import mixtures as m
from ..layers.blocks import Heads, activation, grouped_attention
from ..layers.composing import without_static_cache
from ..layers.decoders import Decoder, attends, mixing, of_kind
from ..layers.layer_kinds import words
from ..trees import Buffer, Component, Linear, ModelConfig, Module, RMSNorm, State


def _heads(d: Decoder, c: ModelConfig) -> Heads:
    """A head_dim of 0 means hidden / heads too, as in the model."""
    return d.heads(c.with_values(head_dim=None) if c.raw("head_dim") == 0 else c)


def _lightning(d: Decoder, c: ModelConfig, _kind: str) -> Module:
    h = d.width(c)
    heads = _heads(d, c)
    width = heads.query * heads.dim
    block = c.dim("block_size", default=256)
    return Module(
        "MiniMaxLightningAttention",
        norm=RMSNorm(width, class_name="MiniMaxRMSNorm"),
        qkv_proj=Linear(h, width * 3, bias=False, kind="qkv"),
        out_proj=Linear(width, h, bias=False, kind="output"),
        output_gate=Linear(h, width, bias=False, kind="gate"),
        act_fn=activation(d.act(c)),
        slope_rate=Buffer(heads.query, 1, 1),
        query_decay=Buffer(heads.query, block, 1),
        key_decay=Buffer(heads.query, block, 1),
        diagonal_decay=Buffer(1, heads.query, block, block),
        component=Component.SSM,
        cache=(State("recurrent", (width, heads.dim)),),
    )


_MINIMAX = Decoder(
    "MiniMax",
    num_key_value_heads=8,
    intermediate_size=14336,
    rms_norm_eps=1e-5,
    rotary=False,
    kinds=words(lambda _c, i: "linear_attention" if i % 2 else "full_attention"),
    attention=lambda d, c: grouped_attention("MiniMaxAttention", d.width(c), _heads(d, c)),
    mlp=m.mixtral(m.counts("num_local_experts", "num_experts", default=8), 2),
    layer=mixing(of_kind("linear_attention", _lightning, attends), mlp="block_sparse_moe"),
)
_MINIMAX.register("minimax", more=without_static_cache(_MINIMAX.classes()))
