"""DeBERTa v2 and v3 (He et al. 2021). Source: transformers/models/deberta_v2.

DeBERTa with separate projections, which positions may share (``share_att_key``), bucketed
positions, a norm of their table and a convolution next to the first layer.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder
from ..layers.encoders import dropout, hidden, norm
from ..trees.modules import Conv, Dropout, Linear, Module
from .deberta import DEBERTA, DEFAULTS, position_kinds, relative_positions, relative_table

_NAME = "DebertaV2"


def attention(c: ModelConfig) -> Module:
    h, heads = hidden(c), c.dim("num_attention_heads")
    c.divided(h, heads, "hidden_size", "num_attention_heads")
    width = heads * c.dim("attention_head_size") if c.has("attention_head_size") else h
    own = c.flag("relative_attention", default=False) and not c.flag("share_att_key", default=False)
    kinds = position_kinds(c) if own else ()
    projections = Module(
        "DisentangledSelfAttention",
        query_proj=Linear(h, width, kind="query"),
        key_proj=Linear(h, width, kind="key"),
        value_proj=Linear(h, width, kind="value"),
        pos_key_proj=Linear(h, width, kind="relative_position") if "c2p" in kinds else None,
        pos_query_proj=Linear(h, width, kind="relative_position") if "p2c" in kinds else None,
        dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.1)),
    )
    return encoders.attending(c, _NAME, projections)


def _convolution(c: ModelConfig) -> Module | None:
    kernel = c.dim("conv_kernel_size", default=0, minimum=0)
    if not kernel:
        return None
    groups = c.dim("conv_groups", default=1)
    c.divided(hidden(c), groups, "hidden_size", "conv_groups")
    return Module(
        "ConvLayer",
        conv=Conv(hidden(c), hidden(c), kernel, dims=1, groups=groups),
        LayerNorm=norm(c),
        dropout=dropout(c),
        component=Component.CONV,
    )


def _layer(e: Encoder, c: ModelConfig) -> Module:
    return encoders.layer(c, e.name, attention_block=attention(c))


def _stack(e: Encoder, c: ModelConfig) -> Module:
    buckets = c.dim("position_buckets", default=-1, minimum=-1)
    positions = buckets if buckets > 0 else relative_positions(c)
    normed = [kind.strip() for kind in (c.text("norm_rel_ebd") or "none").lower().split("|")]
    relative = c.flag("relative_attention", default=False)
    return Module(
        "DebertaV2Encoder",
        layer=encoders.encoder(c, e.name, e.layer(e, c))["layer"],
        rel_embeddings=relative_table(c, positions * 2) if relative else None,
        LayerNorm=norm(c) if "layer_norm" in normed else None,
        conv=_convolution(c),
    )


_DEFAULTS = {
    **DEFAULTS, "vocab_size": 128100, "hidden_size": 1536, "num_hidden_layers": 24,
    "num_attention_heads": 24, "intermediate_size": 6144,
}  # fmt: skip
DEBERTA_V2 = DEBERTA.like(
    _NAME, "deberta", defaults=_DEFAULTS, layer=_layer, encoder=_stack, lacks=()
)
DEBERTA_V2.register("deberta-v2")
