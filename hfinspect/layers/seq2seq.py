"""What BART's descendants share: encoder, decoder and heads, under each model's own names.

Source: transformers' bart, mbart, pegasus, marian, blenderbot, m2m_100 ... whose files copy one
another.  A ``Seq2Seq`` says in what a descendant differs.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..core.records import dataclass
from ..trees import Builder, Component, Dim, ModelConfig, register
from ..trees.modules import Buffer, Dropout, Embedding, LayerNorm, Layers, Linear, Module
from .blocks import activation
from .composing import Form, composed
from .heads import classifier, dense_classifier, to_words
from .vision import clip_attention

#: Learned tables begin with two rows that no position uses (BartLearnedPositionalEmbedding).
OFFSET = 2
_SIDES = ("encoder", "decoder")


def attention(
    c: ModelConfig, s: "Seq2Seq", side: int, _cross: bool = False, *, class_name: str = ""
) -> Module:
    """Four projections of D·D + D, the same to the encoder's states as to one's own."""
    d = width(c, s)
    key = f"{_SIDES[side]}_attention_heads"
    c.divided(d, c.dim(key, default=s.heads[side]), "d_model", key)
    key_bias = s.bias and s.key_bias
    return clip_attention(class_name or f"{s.name}Attention", d, bias=s.bias, key_bias=key_bias)


def model(c: ModelConfig, s: "Seq2Seq") -> Module:
    """``shared`` serves both sides unless the config unties them."""
    table = "shared.weight" if c.tied() else None
    sides = {name: stack(c, s, side, tied_to=table) for side, name in enumerate(_SIDES)}
    return Module(f"{s.name}Model", {"shared": words(c, s), **sides}, scope=True)


@dataclass(frozen=True)
class Seq2Seq:
    """Names, defaults and switches of one descendant; pairs are (encoder, decoder).

    ``words`` and ``positions`` end the class names of the tables; no ``words``: a plain one, no
    ``positions``: they are computed. ``attends`` builds attention of a side, to its own states or
    across, ``make_model`` the model; ``logits_bias``: next to the head is a buffer of zeros, which
    old conversions filled.
    """

    name: str
    words: str = ""
    positions: str | None = None
    offset: int = OFFSET
    embedding_norm: bool = False
    final_norm: bool = False
    prefix: str = "model"
    vocab: int = 50265
    width: int = 1024
    layers: tuple[int, int] = (12, 12)
    inner: tuple[int, int] = (4096, 4096)
    heads: tuple[int, int] = (16, 16)
    length: int = 1024
    act: str = "gelu"
    labels: int = 2
    key_bias: bool = True
    bias: bool = True
    logits_bias: bool = True
    attends: "Callable[[ModelConfig, Seq2Seq, int, bool], Module]" = attention
    make_model: "Callable[[ModelConfig, Seq2Seq], Module]" = model
    length_keys: tuple[str, str] = ("max_position_embeddings", "max_position_embeddings")
    lengths: tuple[int, int] | None = None

    def like(self, name: str, **differences: Any) -> "Seq2Seq":
        """The same family but for its name and the fields given."""
        return replace(self, name=name, **differences)

    @property
    def table(self) -> str:
        """The class name of the words' table."""
        return f"{self.name}{self.words}" if self.words else "Embedding"

    def register(
        self, model_type: str, *suffixes: str, more: Mapping[str, Builder] | None = None
    ) -> "Seq2Seq":
        """Add the family to the catalog: ``more`` classes and those with ``suffixes``."""
        register(
            model_type,
            {**(more or {}), **classes(self, *suffixes)},
            base=f"{self.name}Model",
            base_prefix=self.prefix,
            category="encoder-decoder",
        )
        return self


def width(c: ModelConfig, s: Seq2Seq) -> Dim:
    """D: the width of both sides."""
    return c.dim("d_model", "hidden_size", default=s.width)


def vocab(c: ModelConfig, s: Seq2Seq) -> Dim:
    """V: the entries of the shared table."""
    return c.dim("vocab_size", default=s.vocab)


def norm(c: ModelConfig, s: Seq2Seq) -> Module:
    """LayerNorm of the width."""
    return LayerNorm(width(c, s))


def dropout(c: ModelConfig) -> Module:
    """Dropout of the config's rate."""
    return Dropout(c.number("dropout", default=0.1))


def words(
    c: ModelConfig, s: Seq2Seq, *, size: Dim | None = None, tied_to: str | None = None
) -> Module:
    """The table of token embeddings, (V, D); ``size`` in place of V."""
    return Embedding(size or vocab(c, s), width(c, s), class_name=s.table, tied_to=tied_to)


def positions(c: ModelConfig, s: Seq2Seq, side: int) -> Module | None:
    """The learned positions of encoder (0) or decoder (1), (length + offset, D); None where they
    are computed."""
    if s.positions is None:
        return None
    default = s.lengths[side] if s.lengths else s.length
    length = c.dim(s.length_keys[side], default=default)
    name = f"{s.name}{s.positions}"
    rows = length + s.offset if s.offset else length
    return Embedding(rows, width(c, s), kind="position", class_name=name)


def layer(c: ModelConfig, s: Seq2Seq, side: int) -> Module:
    """Attention and MLP, each with a norm: 4·D² + 2·D·I weights in matrices; in the decoder between
    them attention to the encoder's output: 4·D² more."""
    d = width(c, s)
    inner = c.dim(f"{_SIDES[side]}_ffn_dim", default=s.inner[side])
    crossing = {}
    if side:
        crossing = {"encoder_attn": s.attends(c, s, 1, True), "encoder_attn_layer_norm": norm(c, s)}
    return Module(
        f"{s.name}{_SIDES[side].title()}Layer",
        {
            "self_attn": s.attends(c, s, side, False),
            "self_attn_layer_norm": norm(c, s),
            **crossing,
            "activation_fn": activation(c.text("activation_function", default=s.act)),
            "fc1": Linear(d, inner, component=Component.MLP, kind="up"),
            "fc2": Linear(inner, d, component=Component.MLP, kind="down"),
            "final_layer_norm": norm(c, s),
        },
    )


def stack(
    c: ModelConfig, s: Seq2Seq, side: int, *, tied_to: str | None = None, size: Dim | None = None
) -> Module:
    """Encoder (0) or decoder (1). ``tied_to`` the table that both share; ``size`` of a vocabulary
    of its own."""
    name = _SIDES[side]
    keys = ("encoder_layers", "num_hidden_layers") if side == 0 else ("decoder_layers",)
    layers = c.count(*keys, default=s.layers[side])
    return Module(
        f"{s.name}{name.title()}",
        embed_tokens=words(c, s, size=size, tied_to=tied_to),
        embed_positions=positions(c, s, side),
        layers=Layers.of(layers, layer(c, s, side)),
        layernorm_embedding=norm(c, s) if s.embedding_norm else None,
        layer_norm=norm(c, s) if s.final_norm else None,
    )


# ---- classes


def lm_head(c: ModelConfig, s: Seq2Seq, table: str, size: Dim | None = None) -> Module:
    """From D to the vocabulary, (V, D) without bias; tied to ``table`` if the config says so."""
    return to_words(width(c, s), size or vocab(c, s), table if c.tied() else None)


def conditional_generation(c: ModelConfig, s: Seq2Seq) -> Module:
    """Model and head."""
    logits_bias = Buffer(1, vocab(c, s), kind="lm_head") if s.logits_bias else None
    return Module(
        f"{s.name}ForConditionalGeneration",
        {
            "final_logits_bias": logits_bias,
            s.prefix: s.make_model(c, s),
            "lm_head": lm_head(c, s, f"{s.prefix}.shared.weight"),
        },
    )


def causal_lm(c: ModelConfig, s: Seq2Seq, *, size: Dim | None = None) -> Module:
    """The decoder alone, as a language model."""
    wrapper = Module(f"{s.name}DecoderWrapper", decoder=stack(c, s, 1, size=size))
    table = "model.decoder.embed_tokens.weight"
    return Module(f"{s.name}ForCausalLM", model=wrapper, lm_head=lm_head(c, s, table))


def labels(c: ModelConfig, s: Seq2Seq) -> Dim:
    """As many as listed, else the config class's own default."""
    if c.has("id2label", "num_labels", "_num_labels"):
        return c.num_labels
    return c.dim("num_labels", default=s.labels)


def classes(s: Seq2Seq, *suffixes: str) -> dict[str, Builder]:
    """``{name}{suffix}`` -> builder for the suffixes given."""

    def of(build: Callable[[ModelConfig, Seq2Seq], Module]) -> Builder:
        return lambda c: build(c, s)

    def texts(c: ModelConfig) -> Module:
        d = width(c, s)
        between = Dropout(c.number("classifier_dropout", default=0.0))
        return dense_classifier(f"{s.name}ClassificationHead", d, d, labels(c, s), between)

    def span(c: ModelConfig) -> Module:
        return classifier(width(c, s), 2)  # start and end, whatever num_labels says

    model = of(s.make_model)
    forms: dict[str, Builder | Form] = {
        "ForConditionalGeneration": of(conditional_generation),
        "Model": model,
        "ForCausalLM": of(causal_lm),
        "ForSequenceClassification": {s.prefix: model, "classification_head": texts},
        "ForQuestionAnswering": {s.prefix: model, "qa_outputs": span},
    }
    return composed({f"{s.name}{suffix}": forms[suffix] for suffix in suffixes})


GENERATION = ("ForConditionalGeneration", "Model")
ALL = (*GENERATION, "ForCausalLM", "ForSequenceClassification", "ForQuestionAnswering")
