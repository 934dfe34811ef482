"""BERT's descendants, each written as another with differences: ``BERT.like("Ernie", "ernie")``.

An ``Encoder`` says what such families differ in. Where a field does not say enough, a plain
function takes the place of ``embeddings``, ``layer``, ``encoder`` or ``words``: it gets the encoder
and the config, and returns a module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from ..core.config import ModelConfig
from ..core.records import dataclass
from ..trees.catalog import Builder, register
from ..trees.modules import Embedding, Module
from . import encoders
from .composing import Part, composed, with_defaults
from .encoders import dropout, labels, one_label

Make = Callable[["Encoder", ModelConfig], Module]
#: Ending of a class name -> what its ``__init__`` makes.
Forms = Mapping[str, Mapping[str, Part]]


# ---- parts, as BERT has them


def tables(e: Encoder, c: ModelConfig) -> Module:
    """Words, positions and segments."""
    return encoders.embeddings(c, e.name)


def unnormed(e: Encoder, c: ModelConfig) -> Module:
    """The same without a norm: that of the first layer takes its place."""
    block = tables(e, c)
    del block.children["LayerNorm"]
    return block


def later_positions(e: Encoder, c: ModelConfig) -> Module:
    """The same with two rows more: positions begin at 2."""
    block, positions = encoders.embeddings(c, e.name), c.dim("max_position_embeddings") + 2
    table = Embedding(positions, encoders.hidden(c), kind="position")
    block.children["position_embeddings"] = table
    return block


def bert_layer(e: Encoder, c: ModelConfig) -> Module:
    """Attention and MLP, each with a norm after it; cross-attention where ``cross``."""
    return encoders.layer(c, e.name, cross=e.cross)


def stack(e: Encoder, c: ModelConfig) -> Module:
    """The layers."""
    return encoders.encoder(c, e.name, e.layer(e, c))


def bert_words(e: Encoder, c: ModelConfig) -> Module:
    """``cls``: a transform, then the words."""
    return encoders.bert_mlm_head(c, e.name, table=e.table)


def roberta_words(e: Encoder, c: ModelConfig) -> Module:
    """``lm_head``: the same under RoBERTa's names."""
    return encoders.roberta_lm_head(c, e.name, table=e.table)


# ---- classes


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

    def first_token(c: ModelConfig) -> Module:
        return encoders.roberta_classifier(c, e.name)

    words: Mapping[str, Part] = {p: e.bare, "lm_head": e.part(e.words)}
    return {
        **bert_forms(e),
        "ForMaskedLM": words,
        "ForCausalLM": words,
        "ForSequenceClassification": {p: e.bare, "classifier": first_token},
    }


def pre_training(e: Encoder) -> Forms:
    """The two heads that BERT was trained with: words and order of sentences."""

    def both(c: ModelConfig) -> Module:
        return encoders.bert_mlm_head(c, e.name, table=e.table, sentences=True)

    def order(c: ModelConfig) -> Module:
        return encoders.next_sentence_head(c, e.name)

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
    that look at every token. ``forms`` are its further classes.
    """

    name: str
    prefix: str
    defaults: Mapping[str, Any]
    cross: bool = False
    pooling: Literal["stripped", "always", "never"] = "stripped"
    embeddings: Make = tables
    layer: Make = bert_layer
    encoder: Make = stack
    words: Make = bert_words
    forms: Callable[[Encoder], Forms] = bert_forms

    def like(self, name: str, prefix: str, **differences: Any) -> Encoder:
        """The same family but for its names and the fields given."""
        return replace(self, name=name, prefix=prefix, **differences)

    @property
    def table(self) -> str:
        """The name of the words' table, to which heads are tied."""
        return f"{self.prefix}.embeddings.word_embeddings.weight"

    def part(self, make: Make) -> Part:
        """``make`` as a part of a class."""
        return lambda c: make(self, c)

    def model(self, c: ModelConfig) -> Module:
        """``{name}Model``: embeddings, layers and pooler."""
        return Module(
            f"{self.name}Model",
            embeddings=self.embeddings(self, c),
            encoder=self.encoder(self, c),
            pooler=None if self.pooling == "never" else encoders.pooler(c, self.name),
        )

    def bare(self, c: ModelConfig) -> Module:
        """The model as heads that look at every token keep it."""
        kept = replace(self, pooling="never") if self.pooling == "stripped" else self
        return kept.model(c)

    def classes(self, more: Forms | None = None) -> dict[str, Builder]:
        """Those of ``forms``, of ``more``, and the model."""
        forms: dict[str, Builder | Mapping[str, Part]] = {
            f"{self.name}{ending}": form
            for ending, form in {**self.forms(self), **(more or {})}.items()
        }
        forms[f"{self.name}Model"] = self.model
        return with_defaults(self.defaults, composed(forms))

    def register(
        self, model_type: str, *, more: Forms | None = None, source: str = "transformers"
    ) -> Encoder:
        """Add the family to the catalog, with ``more`` classes; returns it."""
        register(
            model_type, self.classes(more), base=f"{self.name}Model", base_prefix=self.prefix,
            category="encoder", source=source,
        )  # fmt: skip
        return self
