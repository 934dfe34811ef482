"""BERT's descendants, each written as another with differences: ``BERT.like("Ernie", "ernie")``.

An ``Encoder`` says what such families differ in. Where a field does not say enough, a plain
function takes the place of ``embeddings``, ``attention``, ``layer``, ``encoder``, ``words`` or the
``make_model``: it gets the encoder and the config, and returns a module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from ..core.records import dataclass
from ..trees import Builder, Component, Dim, Linear, ModelConfig, Module, register
from . import encoders
from .blocks import activation
from .composing import Form, FormPart, Forms, composed, with_defaults
from .encoders import dropout, hidden, labels, norm, one_label, vocab
from .heads import classifier, to_words

MakePart = Callable[["Encoder", ModelConfig], Module]


# ---- parts, as BERT has them


def tables(e: Encoder, c: ModelConfig) -> Module:
    """Words, positions and segments."""
    return encoders.embeddings(c, e.name)


def without(*names: str) -> MakePart:
    """The same without what has one of these ``names``."""
    return lambda e, c: tables(e, c).without(*names)


def embedding_width(c: ModelConfig) -> Dim:
    """Of the embeddings: ``embedding_size``, the hidden size unless said."""
    return c.dim("embedding_size", default=hidden(c))


def narrow_tables(e: Encoder, c: ModelConfig) -> Module:
    """BERT's tables, as wide as the embeddings are."""
    return encoders.embeddings(c, e.name, width=embedding_width(c))


def bert_layer(e: Encoder, c: ModelConfig) -> Module:
    """Attention and MLP, each with a norm after it; cross-attention where ``cross``, of the same
    form where the family has an ``attention`` of its own."""
    attention = e.attention(e, c) if e.attention else None
    return encoders.layer(c, e.name, attention_block=attention, cross=e.cross)


def stack(e: Encoder, c: ModelConfig) -> Module:
    """The layers."""
    return encoders.encoder(c, e.name, e.layer(e, c))


def bert_words(e: Encoder, c: ModelConfig) -> Module:
    """``cls``: a transform, then the words."""
    return encoders.bert_mlm_head(c, e.name, table=e.table)


def roberta_words(e: Encoder, c: ModelConfig) -> Module:
    """``lm_head``: the same under RoBERTa's names."""
    return encoders.roberta_lm_head(c, e.name, e.table)


def usual_model(e: Encoder, c: ModelConfig) -> Module:
    """Embeddings, layers and pooler."""
    return Module(
        f"{e.name}Model",
        embeddings=e.embeddings(e, c),
        encoder=e.encoder(e, c),
        pooler=None if e.pooling == "never" else encoders.pooler(c, e.name),
    )


def projected(e: Encoder, c: ModelConfig) -> Module:
    """Embeddings, a projection where they are not as wide as the layers, and the layers."""
    e_width = embedding_width(c)
    h = hidden(c)
    project = Linear(e_width, h, component=Component.EMBEDDING, kind="token")
    return Module(
        f"{e.name}Model",
        embeddings=e.embeddings(e, c),
        embeddings_project=project if e_width != h else None,
        encoder=e.encoder(e, c),
    )


# ---- classes


def first_token(e: Encoder) -> Form:
    """RoBERTa's classifier of texts: two linear layers on the first token."""
    return {e.prefix: e.bare, "classifier": lambda c: encoders.roberta_classifier(c, e.name)}


def generating(e: Encoder) -> Form:
    """ELECTRA's generator: a transform to the width of the embeddings, then the words."""

    def transform(c: ModelConfig) -> Module:
        return Module(
            f"{e.name}GeneratorPredictions",
            activation=activation("gelu"),
            LayerNorm=norm(c, embedding_width(c)),
            dense=Linear(hidden(c), embedding_width(c), kind="transform"),
            component=Component.HEAD,
        )

    def words(c: ModelConfig) -> Module:
        return to_words(embedding_width(c), vocab(c), e.table if c.tied() else None, bias=True)

    return {e.prefix: e.bare, "generator_predictions": transform, "generator_lm_head": words}


def bert_forms(e: Encoder) -> Forms:
    """BERT's heads."""
    p = e.prefix
    return {
        "ForMaskedLM": {p: e.bare, "cls": e.part(e.words)},
        "ForSequenceClassification": {p: e.model, "dropout": dropout, "classifier": labels},
        "ForMultipleChoice": {p: e.model, "dropout": dropout, "classifier": one_label},
        "ForTokenClassification": {p: e.bare, "dropout": dropout, "classifier": labels},
        "ForQuestionAnswering": {p: e.bare, "qa_outputs": labels},
    }


def roberta_forms(e: Encoder) -> Forms:
    """RoBERTa's heads: that of the words under another name, and one for the first token."""
    p = e.prefix
    words: Form = {p: e.bare, "lm_head": e.part(e.words)}
    return {
        **bert_forms(e),
        "ForMaskedLM": words,
        "ForCausalLM": words,
        "ForSequenceClassification": first_token(e),
    }


def summary_forms(e: Encoder) -> Forms:
    """BERT's heads, but that of texts takes the first token, that of choices a summary."""
    p = e.prefix
    summary = partial(encoders.sequence_summary, name=e.name)
    return {
        **bert_forms(e),
        "ForSequenceClassification": first_token(e),
        "ForMultipleChoice": {p: e.bare, "sequence_summary": summary, "classifier": one_label},
    }


def pre_training(e: Encoder) -> Forms:
    """The two heads that BERT was trained with: words and order of sentences."""

    def both(c: ModelConfig) -> Module:
        head = e.words(e, c).called(f"{e.name}PreTrainingHeads")
        return head.adding(seq_relationship=classifier(hidden(c), 2))

    def order(c: ModelConfig) -> Module:
        follows = classifier(hidden(c), 2)
        return Module(f"{e.name}OnlyNSPHead", seq_relationship=follows, component=Component.HEAD)

    return {
        "ForPreTraining": {e.prefix: e.model, "cls": both},
        "ForNextSentencePrediction": {e.prefix: e.model, "cls": order},
    }


# ---- the family


@dataclass(frozen=True)
class Encoder:
    """What BERT's descendants differ in; ``name`` begins the names of the classes, ``prefix`` is
    where they keep the model.

    ``defaults`` are those of the config class. ``cross``: a decoder's layers attend to another
    model's states. ``pooling``: whether the model ends in a pooler; ``stripped``: not under heads
    that look at every token. ``headless``: a config without a class means the model. ``forms`` are
    its further classes, but for those with the endings that it ``lacks``.
    """

    name: str
    prefix: str
    defaults: Mapping[str, Any]
    cross: bool = False
    pooling: Literal["stripped", "always", "never"] = "stripped"
    embeddings: MakePart = tables
    attention: MakePart | None = None
    layer: MakePart = bert_layer
    encoder: MakePart = stack
    words: MakePart = bert_words
    make_model: MakePart = usual_model
    headless: bool = False
    forms: Callable[[Encoder], Forms] = bert_forms
    lacks: tuple[str, ...] = ()

    def like(self, name: str, prefix: str, **differences: Any) -> Encoder:
        """The same family but for its names and the fields given."""
        return replace(self, name=name, prefix=prefix, **differences)

    @property
    def table(self) -> str:
        """The name of the words' table, to which heads are tied."""
        return f"{self.prefix}.embeddings.word_embeddings.weight"

    def part(self, make: MakePart) -> FormPart:
        """``make`` as a part of a class."""
        return lambda c: make(self, c)

    def model(self, c: ModelConfig) -> Module:
        """``{name}Model``."""
        return self.make_model(self, c)

    def bare(self, c: ModelConfig) -> Module:
        """The model as heads that look at every token keep it."""
        encoder = replace(self, pooling="never") if self.pooling == "stripped" else self
        return encoder.model(c)

    def classes(self, more: Mapping[str, Form | Builder] | None = None) -> dict[str, Builder]:
        """Those of ``forms``, of ``more``, and the model."""
        forms: dict[str, Builder | Form] = {
            f"{self.name}{ending}": form
            for ending, form in {**self.forms(self), **(more or {})}.items()
            if ending not in self.lacks
        }
        model: dict[str, Builder] = {f"{self.name}Model": self.model}
        ordered = {**model, **forms} if self.headless else {**forms, **model}
        return with_defaults(self.defaults, composed(ordered))

    def register(
        self,
        model_type: str,
        *,
        more: Mapping[str, Form | Builder] | None = None,
        source: str = "transformers",
        category: str = "encoder",
    ) -> Encoder:
        """Add the family to the catalog, with ``more`` classes; returns it."""
        register(
            model_type,
            self.classes(more),
            base=f"{self.name}Model",
            base_prefix=self.prefix,
            category=category,
            source=source,
        )
        return self
