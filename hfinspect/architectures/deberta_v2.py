"""DeBERTa v2 and v3 (He et al. 2021): DeBERTa (a trace) with projections apart, which positions may
share, in buckets, a norm of their table, a convolution (transformers/models/deberta_v2)."""

from ..layers import encoders
from ..layers.bert_encoders import Encoder, bert_forms, embedding_width, stack
from ..layers.composing import Forms
from ..layers.encoders import dropout, hidden, labels, norm, one_label, vocab
from ..trees import Buffer, Component, Conv, Dropout, Embedding, Linear, ModelConfig, Module, Weight
from ..trees.config_defaults import config_defaults


def _tables(e: Encoder, c: ModelConfig) -> Module:
    width = embedding_width(c)
    h = hidden(c)
    positions = c.dim("max_position_embeddings")
    segments = c.dim("type_vocab_size", minimum=0)
    biased = c.flag("position_biased_input", default=True)
    return Module(
        f"{e.name}Embeddings",
        word_embeddings=Embedding(vocab(c), width),
        position_embeddings=Embedding(positions, width, kind="position") if biased else None,
        token_type_embeddings=Embedding(segments, width, kind="segment") if segments else None,
        embed_proj=Linear(width, h, bias=False, kind="token") if width != h else None,
        LayerNorm=norm(c),
        dropout=dropout(c),
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def _words_of(text: str) -> tuple[str, ...]:
    """Of one string with bars between: "c2p|p2c"."""
    return tuple(word.strip() for word in text.lower().split("|"))


def _attention(e: Encoder, c: ModelConfig) -> Module:
    h = hidden(c)
    heads = c.dim("num_attention_heads")
    types = c.raw("pos_att_type")
    c.divided(h, heads, "hidden_size", "num_attention_heads")
    width = heads * c.dim("attention_head_size") if c.has("attention_head_size") else h
    kind_of = {"query_proj": "query", "key_proj": "key", "value_proj": "value"}
    if c.flag("relative_attention", default=False) and not c.flag("share_att_key", default=False):
        kinds = (
            _words_of(types) if isinstance(types, str) else c.strings("pos_att_type", default=())
        )
        places = {"c2p": "pos_key_proj", "p2c": "pos_query_proj"}
        kind_of |= {at: "relative_position" for kind, at in places.items() if kind in kinds}
    projections = {name: Linear(h, width, kind=kind) for name, kind in kind_of.items()}
    drop = Dropout(c.number("attention_probs_dropout_prob", default=0.1))
    self_attention = Module("DisentangledSelfAttention", projections, dropout=drop)
    return encoders.attending(c, e.name, self_attention)


def _stack(e: Encoder, c: ModelConfig) -> Module:
    encoder = stack(e, c)
    h = hidden(c)
    if c.flag("relative_attention", default=False):
        # Of all distances, forwards and back: of buckets, of ``max_relative_positions``, or where
        # that is below one of the longest text.
        keys = ("position_buckets", "max_relative_positions")
        dims = (c.dim(key, default=-1, minimum=-1) for key in keys)
        count = next((size for size in dims if size >= 1), None) or c.dim("max_position_embeddings")
        at = Component.ATTENTION
        kind = "relative_position"
        encoder.adding(rel_embeddings=Embedding(count * 2, h, component=at, kind=kind))
    if "layer_norm" in _words_of(c.text("norm_rel_ebd") or "none"):
        encoder.adding(LayerNorm=norm(c))
    kernel = c.dim("conv_kernel_size", default=0, minimum=0)
    if kernel:
        c.divided(h, groups := c.dim("conv_groups", default=1), "hidden_size", "conv_groups")
        parts = {"conv": Conv(h, h, kernel, dims=1, groups=groups), "LayerNorm": norm(c)}
        drop = dropout(c)
        to = Component.CONV
        encoder.adding(conv=Module("ConvLayer", parts, dropout=drop, component=to))
    return encoder


def _worded(c: ModelConfig) -> Module:
    """With the head of the released files, or with that of the original code, whose words are the
    embeddings' own."""
    name = "DebertaV2ForMaskedLM"
    base = {"deberta": DEBERTA_V2.bare(c)}
    if c.flag("legacy", default=True):
        to = DEBERTA_V2.table
        width = embedding_width(c)
        head = encoders.bert_mlm_head(c, "LegacyDebertaV2", table=to, width=width)
        return Module(name, base, cls=head)
    head = encoders.transform(c, "DebertaV2", hidden(c)).called("DebertaV2LMPredictionHead")
    head.children = {"bias": Weight(vocab(c), kind="lm_head"), **head.children}
    words = Module("DebertaV2OnlyMLMHead", lm_head=head, component=Component.HEAD)
    return Module(name, base, lm_predictions=words)


def _pooler(c: ModelConfig) -> Module:
    dense = Linear(width := c.dim("pooler_hidden_size", default=hidden(c)), width)
    drop = Dropout(c.number("pooler_dropout", default=0.0))
    at = Component.HEAD
    return Module("ContextPooler", dense=dense, dropout=drop, component=at, kind="pooler")


def _forms(e: Encoder) -> Forms:
    # Of the hidden size, whatever pooler_hidden_size says (ContextPooler.output_dim).
    labelled = {e.prefix: e.bare, "pooler": _pooler, "classifier": labels, "dropout": dropout}
    choice = {**labelled, "classifier": one_label}
    return {**bert_forms(e), "ForSequenceClassification": labelled, "ForMultipleChoice": choice}


DEBERTA_V2 = Encoder(
    "DebertaV2",
    "deberta",
    {**encoders.BASE, **config_defaults("deberta_v2")},
    pooling="never",
    embeddings=_tables,
    attention=_attention,
    encoder=_stack,
    forms=_forms,
    headless=True,
).register("deberta-v2", more={"ForMaskedLM": _worded})
