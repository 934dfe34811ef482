"""What BERT's descendants share to the letter, each under its own class names.

Source: the repeated blocks of transformers' encoder files (``# Copied from ...bert`` and the
modular files).  ``name`` is the prefix of the class names: Roberta, Electra, Ernie ...
Configs given here already hold the family's defaults (``composing.with_defaults``).
"""

from __future__ import annotations

from collections.abc import Mapping

from ..trees import Component, Dim, ModelConfig, config_defaults
from ..trees.modules import (
    Activation,
    Buffer,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Weight,
)
from .blocks import activation
from .heads import classifier, dense_classifier

#: Sizes of BERT base, which most descendants keep as the defaults of their config class.
BASE = config_defaults("bert")


# ---- blocks


def hidden(c: ModelConfig) -> Dim:
    """``hidden_size`` of a config completed by defaults."""
    return c.dim("hidden_size")


def vocab(c: ModelConfig) -> Dim:
    """``vocab_size`` of a config completed by defaults."""
    return c.dim("vocab_size")


def norm(c: ModelConfig, size: int | None = None) -> Module:
    """LayerNorm of the hidden size, or of ``size``."""
    return LayerNorm(size or hidden(c), eps=c.number("layer_norm_eps", default=1e-12))


def dropout(c: ModelConfig) -> Module:
    """Dropout of the config's rate."""
    return Dropout(c.number("hidden_dropout_prob", default=0.1))


def embeddings(
    c: ModelConfig, name: str, *, width: Dim | None = None, more: Mapping[str, Module] | None = None
) -> Module:
    """Words, positions and segments, summed and normed; ``width`` where it is not the hidden."""
    h = width or hidden(c)
    positions = c.dim("max_position_embeddings")
    return Module(
        f"{name}Embeddings",
        {
            "word_embeddings": Embedding(vocab(c), h, padding_idx=c.padding_idx),
            "position_embeddings": Embedding(positions, h, kind="position"),
            "token_type_embeddings": Embedding(c.dim("type_vocab_size"), h, kind="segment"),
            **(more or {}),
            "LayerNorm": norm(c, h),
            "dropout": dropout(c),
            # Older files hold the positions 0..n-1 as a tensor.
            "position_ids": Buffer(1, positions, dtype="I64", saved=False),
        },
        component=Component.EMBEDDING,
    )


def unsegmented(c: ModelConfig, name: str) -> Module:
    """The same without segments."""
    return embeddings(c, name).without("token_type_embeddings")


def page_tables(c: ModelConfig, corner: Dim, size: Dim) -> dict[str, Module]:
    """Where a word stands on the page: a table of corners by column and row, and of heights and
    widths, of these widths each."""
    places = c.dim("max_2d_position_embeddings", default=1024)
    widths = {"x": corner, "y": corner, "h": size, "w": size}
    return {
        f"{at}_position_embeddings": Embedding(places, width, kind="position")
        for at, width in widths.items()
    }


def add_page_biases(c: ModelConfig, encoder: Module, *, along: bool) -> Module:
    """``encoder`` with the biases of all its layers' attention: one for how far apart words are in
    the text (``along`` is the default), and by column and row on the page."""
    heads = c.dim("num_attention_heads")

    def biases(key: str, default: int) -> Module:
        at = Component.ATTENTION
        bins = c.dim(key, default=default)
        return Linear(bins, heads, bias=False, component=at, kind="relative_position")

    text = biases("rel_pos_bins", 32)
    across = biases("rel_2d_pos_bins", 64)
    if c.flag("has_relative_attention_bias", default=along):
        encoder.children["rel_pos_bias"] = text
    if c.flag("has_spatial_attention_bias", default=True):
        encoder.children |= {f"rel_pos_{side}_bias": across for side in "xy"}
    return encoder


def attention(c: ModelConfig, name: str, *, cross: bool = False) -> Module:
    """Query, key, value and output, each H·H + H, and the norm after the residual."""
    kind = "CrossAttention" if cross else "SelfAttention"
    return attending(c, name, projections(c, f"{name}{kind}"))


def projections(c: ModelConfig, class_name: str, context: Dim | None = None) -> Module:
    """Query, key and value, each H·H + H; keys and values from a ``context``: H·C + H."""
    h = hidden(c)
    inputs = h if context is None else context
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    return Module(
        class_name,
        query=Linear(h, h, kind="query"),
        key=Linear(inputs, h, kind="key"),
        value=Linear(inputs, h, kind="value"),
        dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.1)),
    )


def attending(c: ModelConfig, name: str, inner: Module, *, at: str = "self") -> Module:
    """Projections (``inner``) under ``at``, BERT's output behind them."""
    behind = {"dense": Linear(hidden(c), hidden(c), kind="output"), "LayerNorm": norm(c)}
    last = Module(f"{name}SelfOutput", behind, dropout=dropout(c))
    return Module(f"{name}Attention", {at: inner, "output": last}, component=Component.ATTENTION)


def attention_after_norm(c: ModelConfig, name: str, at: str) -> Module:
    """The same with a norm before it, under the name ``at``, and none after the residual."""
    block = attention(c, name)
    block.inside("output").without("LayerNorm")
    return block.adding(**{at: norm(c)})


def intermediate(c: ModelConfig, name: str) -> Module:
    """The first matrix of the MLP: H·I + I."""
    return Module(
        f"{name}Intermediate",
        dense=Linear(hidden(c), c.dim("intermediate_size"), kind="up"),
        intermediate_act_fn=activation(c.text("hidden_act")),
        component=Component.MLP,
    )


def output(c: ModelConfig, name: str) -> Module:
    """The second matrix of the MLP, I·H + H, and the norm after the residual."""
    return Module(
        f"{name}Output",
        dense=Linear(c.dim("intermediate_size"), hidden(c), kind="down"),
        LayerNorm=norm(c),
        dropout=dropout(c),
        component=Component.MLP,
    )


def layer(
    c: ModelConfig,
    name: str,
    *,
    attention_block: Module | None = None,
    crossing: Module | None = None,
    cross: bool = False,
) -> Module:
    """Attention and the MLP, and between them ``crossing``; ``cross``: cross-attention in decoders
    whose config wants it, the ``attention_block`` once more if there is one. Many classes have none
    whatever their config says."""
    if cross and c.flag("add_cross_attention", default=False):
        if not c.flag("is_decoder", default=False):
            raise c.error("add_cross_attention", True, "false unless is_decoder is true")
        crossing = attention_block or attention(c, name, cross=True)
    return Module(
        f"{name}Layer",
        attention=attention_block or attention(c, name),
        crossattention=crossing,
        intermediate=intermediate(c, name),
        output=output(c, name),
    )


def encoder(c: ModelConfig, name: str, block: Module | None = None) -> Module:
    """A stack of ``block``, or of BERT's layer."""
    blocks = Layers.of(c.count("num_hidden_layers"), block or layer(c, name))
    return Module(f"{name}Encoder", layer=blocks)


def tower(c: ModelConfig, name: str) -> Module:
    """BERT as it is, as the text tower of a composite; the config need not be complete."""
    c = c.with_defaults(**BASE)
    return Module(
        f"{name}Model",
        embeddings=embeddings(c, name),
        encoder=encoder(c, name),
        pooler=pooler(c, name),
        part="text",
    )


def pooler(c: ModelConfig, name: str) -> Module:
    """One H·H + H layer on the first token."""
    return Module(
        f"{name}Pooler",
        dense=Linear(hidden(c), hidden(c)),
        activation=Activation("Tanh"),
        component=Component.HEAD,
        kind="pooler",
    )


# ---- heads


def labels(c: ModelConfig) -> Module:
    """One linear layer from the hidden size to the labels."""
    return classifier(hidden(c), c.num_labels)


def one_label(c: ModelConfig) -> Module:
    """The score of one choice among several."""
    return classifier(hidden(c), 1)


def _decoder(c: ModelConfig, width: Dim, table: str, at: str) -> Module:
    """From a width to the words: weight tied to ``table``, bias to that of the head at ``at``."""
    to, bias = (table, f"{at}.bias") if c.tied() else (None, None)
    return Linear(width, vocab(c), kind="lm_head", tied_to=to, bias_tied_to=bias)


def roberta_lm_head(c: ModelConfig, name: str, table: str) -> Module:
    """dense, norm, then the words."""
    return Module(
        f"{name}LMHead",
        bias=Weight(vocab(c), kind="lm_head"),
        dense=Linear(hidden(c), hidden(c), kind="transform"),
        layer_norm=norm(c),
        decoder=_decoder(c, hidden(c), table, "lm_head"),
        component=Component.HEAD,
    )


def roberta_classifier(c: ModelConfig, name: str) -> Module:
    """dense and out_proj on the first token."""
    h = hidden(c)
    return dense_classifier(f"{name}ClassificationHead", h, h, c.num_labels, dropout(c))


def transform(c: ModelConfig, name: str, width: Dim) -> Module:
    """What stands before the words in BERT's head: H·E + E, an activation and a norm."""
    return Module(
        f"{name}PredictionHeadTransform",
        dense=Linear(hidden(c), width, kind="transform"),
        transform_act_fn=activation(c.text("hidden_act")),
        LayerNorm=norm(c, width),
    )


def bert_mlm_head(
    c: ModelConfig, name: str, *, table: str, at: str = "cls.predictions", width: Dim | None = None
) -> Module:
    """``cls``: a transform, then the words; ``width`` of the embeddings if factored."""
    e = width or hidden(c)
    predictions = Module(
        f"{name}LMPredictionHead",
        bias=Weight(vocab(c), kind="lm_head"),
        transform=transform(c, name, e),
        decoder=_decoder(c, e, table, at),
    )
    return Module(f"{name}OnlyMLMHead", predictions=predictions, component=Component.HEAD)


def sequence_summary(
    c: ModelConfig, name: str, *, project: bool = False, activation_name: str | None = None
) -> Module:
    """One vector per text: projected to the hidden size or the labels where the config asks.
    ``project`` and ``activation_name`` are the config class's own defaults."""
    projects = c.flag("summary_use_proj", default=project)
    h = hidden(c)
    wide = c.num_labels if c.flag("summary_proj_to_labels", default=False) else h
    act = c.text("summary_activation", default=activation_name)
    return Module(
        f"{name}SequenceSummary",
        summary=Linear(h, wide) if projects else Activation("Identity"),
        activation=activation(act),
        component=Component.HEAD,
        kind="classifier",
    )
