"""DeBERTa v2 and v3 (He et al. 2021). Source: transformers/models/deberta_v2.

DeBERTa with separate projections, which positions may share (``share_att_key``), bucketed
positions, a norm of their table and a convolution next to the first layer.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import dropout, hidden, labels, norm
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import Conv, Dropout, Layers, Linear, Module
from .deberta import (
    DEFAULTS,
    context_pooler,
    embeddings,
    legacy_lm_head,
    lm_predictions,
    pooled_labels,
    position_kinds,
    relative_positions,
    relative_table,
)

_NAME = "DebertaV2"
_DEFAULTS = {
    **DEFAULTS, "vocab_size": 128100, "hidden_size": 1536, "num_hidden_layers": 24,
    "num_attention_heads": 24, "intermediate_size": 6144,
}  # fmt: skip


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
    return Module(
        "DebertaV2Attention",
        {"self": projections, "output": encoders.self_output(c, _NAME)},
        component=Component.ATTENTION,
    )


def convolution(c: ModelConfig) -> Module | None:
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


def encoder(c: ModelConfig) -> Module:
    buckets = c.dim("position_buckets", default=-1, minimum=-1)
    positions = buckets if buckets > 0 else relative_positions(c)
    relative = c.flag("relative_attention", default=False)
    normed = [kind.strip() for kind in (c.text("norm_rel_ebd") or "none").lower().split("|")]
    return Module(
        "DebertaV2Encoder",
        layer=Layers.of(
            c.count("num_hidden_layers"), encoders.layer(c, _NAME, attention_block=attention(c))
        ),
        rel_embeddings=relative_table(positions * 2, hidden(c)) if relative else None,
        LayerNorm=norm(c) if "layer_norm" in normed else None,
        conv=convolution(c),
    )


def model(c: ModelConfig) -> Module:
    return Module("DebertaV2Model", embeddings=embeddings(c, _NAME, norm(c)), encoder=encoder(c))


def _one_label(c: ModelConfig) -> Module:
    return classifier(hidden(c), 1)


_POOLED = {
    "deberta": model,
    "pooler": context_pooler,
    "classifier": pooled_labels,
    "dropout": dropout,
}
_CLASSES = composed(
    {
        "DebertaV2Model": model,
        "DebertaV2ForMaskedLM": {
            "deberta": model,
            "cls": lambda c: legacy_lm_head(c, _NAME),
            "lm_predictions": lambda c: lm_predictions(c, _NAME),
        },
        "DebertaV2ForSequenceClassification": _POOLED,
        "DebertaV2ForTokenClassification": {
            "deberta": model,
            "dropout": dropout,
            "classifier": labels,
        },
        "DebertaV2ForQuestionAnswering": {"deberta": model, "qa_outputs": labels},
        "DebertaV2ForMultipleChoice": {**_POOLED, "classifier": _one_label},
    }
)

register(
    "deberta-v2",
    with_defaults(_DEFAULTS, _CLASSES),
    base_prefix="deberta",
    category="encoder",
)
