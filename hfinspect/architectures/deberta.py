"""DeBERTa (He et al. 2020). Source of shapes: transformers/models/deberta/modeling_deberta.py.

Content and position are attended to apart: one fused projection for the content, projections of
the relative positions for the kinds in ``pos_att_type`` (c2p, p2c), one table for all layers.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.blocks import activation
from ..layers.composing import composed, with_defaults
from ..layers.encoders import dropout, hidden, labels, vocab
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import (
    Buffer,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Weight,
)  # fmt: skip

DEFAULTS = {
    "vocab_size": 50265, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 0,
    "layer_norm_eps": 1e-7, "hidden_act": "gelu",
}  # fmt: skip
_TABLE = "deberta.embeddings.word_embeddings.weight"


def _norm(c: ModelConfig) -> Module:
    eps = c.number("layer_norm_eps", default=1e-7)
    return LayerNorm(hidden(c), eps=eps, class_name="DebertaLayerNorm")


def width(c: ModelConfig) -> Dim:
    """Of the embeddings; the hidden size unless said."""
    return c.dim("embedding_size", default=hidden(c))


def position_kinds(c: ModelConfig) -> tuple[str, ...]:
    """``pos_att_type``: a list, or one string with bars between: "c2p|p2c"."""
    if isinstance(c.raw("pos_att_type"), str):
        text = c.text("pos_att_type") or ""
        return tuple(kind.strip() for kind in text.lower().split("|"))
    return c.strings("pos_att_type", default=())


def relative_positions(c: ModelConfig) -> Dim:
    """``max_relative_positions``; below one stands for the longest text."""
    found = c.dim("max_relative_positions", default=-1, minimum=-1)
    return found if found >= 1 else c.dim("max_position_embeddings")


def embeddings(c: ModelConfig, name: str, norm: Module) -> Module:
    e, h = width(c), hidden(c)
    positions, segments = c.dim("max_position_embeddings"), c.dim("type_vocab_size", minimum=0)
    biased = c.flag("position_biased_input", default=True)
    return Module(
        f"{name}Embeddings",
        word_embeddings=Embedding(vocab(c), e),
        position_embeddings=Embedding(positions, e, kind="position") if biased else None,
        token_type_embeddings=Embedding(segments, e, kind="segment") if segments else None,
        embed_proj=Linear(e, h, bias=False, kind="token") if e != h else None,
        LayerNorm=norm,
        dropout=dropout(c),
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def attention(c: ModelConfig) -> Module:
    h, heads = hidden(c), c.dim("num_attention_heads")
    c.divided(h, heads, "hidden_size", "num_attention_heads")
    relative, kinds = c.flag("relative_attention", default=False), position_kinds(c)
    talking = c.flag("talking_head", default=False)
    projections = Module(
        "DisentangledSelfAttention",
        q_bias=Weight(h, kind="query"),
        v_bias=Weight(h, kind="value"),
        in_proj=Linear(h, h * 3, bias=False, kind="qkv"),
        head_logits_proj=Linear(heads, heads, bias=False) if talking else None,
        head_weights_proj=Linear(heads, heads, bias=False) if talking else None,
        pos_proj=Linear(h, h, bias=False, kind="relative_position")
        if relative and "c2p" in kinds
        else None,
        pos_q_proj=Linear(h, h, kind="relative_position") if relative and "p2c" in kinds else None,
        dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.1)),
    )
    return Module(
        "DebertaAttention",
        {"self": projections, "output": encoders.self_output(c, "Deberta", normed=_norm(c))},
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    return Module(
        "DebertaLayer",
        attention=attention(c),
        intermediate=encoders.intermediate(c, "Deberta"),
        output=encoders.output(c, "Deberta", normed=_norm(c)),
    )


def model(c: ModelConfig) -> Module:
    relative = c.flag("relative_attention", default=False)
    return Module(
        "DebertaModel",
        embeddings=embeddings(c, "Deberta", _norm(c)),
        encoder=Module(
            "DebertaEncoder",
            layer=Layers.of(c.count("num_hidden_layers"), layer(c)),
            rel_embeddings=relative_table(2 * relative_positions(c), hidden(c))
            if relative
            else None,
        ),
    )


def relative_table(positions: Dim, size: Dim) -> Module:
    return Embedding(positions, size, component=Component.ATTENTION, kind="relative_position")


def legacy_lm_head(c: ModelConfig, name: str) -> Module | None:
    """``cls``: the head of the released files."""
    if not c.flag("legacy", default=True):
        return None
    return encoders.bert_mlm_head(c, f"Legacy{name}", table=_TABLE, width=width(c))


def lm_predictions(c: ModelConfig, name: str) -> Module | None:
    """``lm_predictions``: the head of the original code; the words are the embeddings' own."""
    if c.flag("legacy", default=True):
        return None
    h = hidden(c)
    head = Module(
        f"{name}LMPredictionHead",
        bias=Weight(vocab(c), kind="lm_head"),
        dense=Linear(h, h, kind="transform"),
        transform_act_fn=activation(c.text("hidden_act")),
        LayerNorm=encoders.norm(c),
    )
    return Module(f"{name}OnlyMLMHead", lm_head=head, component=Component.HEAD)


def context_pooler(c: ModelConfig) -> Module:
    pooled = c.dim("pooler_hidden_size", default=hidden(c))
    return Module(
        "ContextPooler",
        dense=Linear(pooled, pooled),
        dropout=Dropout(c.number("pooler_dropout", default=0.0)),
        component=Component.HEAD,
        kind="pooler",
    )


def pooled_labels(c: ModelConfig) -> Module:
    # Of the hidden size, whatever pooler_hidden_size says (ContextPooler.output_dim).
    return classifier(hidden(c), c.num_labels)


_CLASSES = composed(
    {
        "DebertaModel": model,
        "DebertaForMaskedLM": {
            "deberta": model,
            "cls": lambda c: legacy_lm_head(c, "Deberta"),
            "lm_predictions": lambda c: lm_predictions(c, "Deberta"),
        },
        "DebertaForSequenceClassification": {
            "deberta": model,
            "pooler": context_pooler,
            "classifier": pooled_labels,
            "dropout": dropout,
        },
        "DebertaForTokenClassification": {
            "deberta": model,
            "dropout": dropout,
            "classifier": labels,
        },
        "DebertaForQuestionAnswering": {"deberta": model, "qa_outputs": labels},
    }
)


register("deberta", with_defaults(DEFAULTS, _CLASSES), base_prefix="deberta", category="encoder")
