"""DeBERTa (He et al. 2020). Source of shapes: transformers/models/deberta/modeling_deberta.py.

Content and position are attended to apart: one fused projection for the content, projections of
the relative positions for the kinds in ``pos_att_type`` (c2p, p2c), one table for all layers.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.bert_encoders import Encoder, Form, Forms, bert_forms, embedding_width
from ..layers.blocks import activation
from ..layers.encoders import dropout, hidden, labels, vocab
from ..layers.heads import classifier
from ..trees.modules import Buffer, Dropout, Embedding, LayerNorm, Linear, Module, Weight

DEFAULTS = {
    **encoders.BASE, "vocab_size": 50265, "type_vocab_size": 0, "layer_norm_eps": 1e-7,
}  # fmt: skip


def _norm(e: Encoder, c: ModelConfig) -> Module:
    name = "DebertaLayerNorm" if e.name == "Deberta" else "LayerNorm"
    return LayerNorm(hidden(c), eps=c.number("layer_norm_eps", default=1e-12), class_name=name)


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


def _tables(e: Encoder, c: ModelConfig) -> Module:
    width, h = embedding_width(c), hidden(c)
    positions, segments = c.dim("max_position_embeddings"), c.dim("type_vocab_size", minimum=0)
    biased = c.flag("position_biased_input", default=True)
    return Module(
        f"{e.name}Embeddings",
        word_embeddings=Embedding(vocab(c), width),
        position_embeddings=Embedding(positions, width, kind="position") if biased else None,
        token_type_embeddings=Embedding(segments, width, kind="segment") if segments else None,
        embed_proj=Linear(width, h, bias=False, kind="token") if width != h else None,
        LayerNorm=_norm(e, c),
        dropout=dropout(c),
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def _layer(e: Encoder, c: ModelConfig) -> Module:
    h, heads = hidden(c), c.dim("num_attention_heads")
    c.divided(h, heads, "hidden_size", "num_attention_heads")
    relative = position_kinds(c) if c.flag("relative_attention", default=False) else ()
    talking = c.flag("talking_head", default=False)
    projections = Module(
        "DisentangledSelfAttention",
        q_bias=Weight(h, kind="query"),
        v_bias=Weight(h, kind="value"),
        in_proj=Linear(h, h * 3, bias=False, kind="qkv"),
        head_logits_proj=Linear(heads, heads, bias=False) if talking else None,
        head_weights_proj=Linear(heads, heads, bias=False) if talking else None,
        pos_proj=Linear(h, h, False, kind="relative_position") if "c2p" in relative else None,
        pos_q_proj=Linear(h, h, kind="relative_position") if "p2c" in relative else None,
        dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.1)),
    )
    attention = encoders.attending(c, e.name, projections, normed=_norm(e, c))
    block = encoders.layer(c, e.name, attention_block=attention)
    block.children["output"] = encoders.output(c, e.name, normed=_norm(e, c))
    return block


def _stack(e: Encoder, c: ModelConfig) -> Module:
    block = encoders.encoder(c, e.name, e.layer(e, c))
    if c.flag("relative_attention", default=False):
        block.children["rel_embeddings"] = relative_table(c, 2 * relative_positions(c))
    return block


def relative_table(c: ModelConfig, positions: Dim) -> Module:
    """Of all distances, forwards and back."""
    at, kind = Component.ATTENTION, "relative_position"
    return Embedding(positions, hidden(c), component=at, kind=kind)


def _words(e: Encoder) -> Form:
    """The head of the released files, or that of the original code, whose words are the
    embeddings' own."""

    def released(c: ModelConfig) -> Module | None:
        if not c.flag("legacy", default=True):
            return None
        name = f"Legacy{e.name}"
        return encoders.bert_mlm_head(c, name, table=e.table, width=embedding_width(c))

    def original(c: ModelConfig) -> Module | None:
        if c.flag("legacy", default=True):
            return None
        h = hidden(c)
        head = Module(
            f"{e.name}LMPredictionHead",
            bias=Weight(vocab(c), kind="lm_head"),
            dense=Linear(h, h, kind="transform"),
            transform_act_fn=activation(c.text("hidden_act")),
            LayerNorm=encoders.norm(c),
        )
        return Module(f"{e.name}OnlyMLMHead", lm_head=head, component=Component.HEAD)

    return {e.prefix: e.bare, "cls": released, "lm_predictions": original}


def _pooler(c: ModelConfig) -> Module:
    pooled = c.dim("pooler_hidden_size", default=hidden(c))
    return Module(
        "ContextPooler",
        dense=Linear(pooled, pooled),
        dropout=Dropout(c.number("pooler_dropout", default=0.0)),
        component=Component.HEAD,
        kind="pooler",
    )


def _forms(e: Encoder) -> Forms:
    # Of the hidden size, whatever pooler_hidden_size says (ContextPooler.output_dim).
    labelled = {e.prefix: e.bare, "pooler": _pooler, "classifier": labels, "dropout": dropout}
    return {
        **bert_forms(e),
        "ForMaskedLM": _words(e),
        "ForSequenceClassification": labelled,
        "ForMultipleChoice": {**labelled, "classifier": lambda c: classifier(hidden(c), 1)},
    }


DEBERTA = Encoder(
    "Deberta", "deberta", DEFAULTS, pooling="never", embeddings=_tables, layer=_layer,
    encoder=_stack, forms=_forms, headless=True, lacks=("ForMultipleChoice",),
).register("deberta")  # fmt: skip
