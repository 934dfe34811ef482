"""The heads that most families share, as transformers' generic classes build them.

Source: transformers/modeling_layers.py (GenericForSequenceClassification, ...TokenClassification,
...QuestionAnswering) and the usual ``ForCausalLM`` of decoder-only models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..trees import Builder, Component, Dim, ModelConfig, register
from ..trees.catalog import Family
from ..trees.modules import Activation, Dropout, Linear, Module
from .composing import FormPart, composed

Base = Callable[[ModelConfig], Module]


def hidden_size(c: ModelConfig) -> Dim:
    """The width of the model under its usual keys."""
    return c.dim("hidden_size", "n_embd", "d_model", "n_embed", "dim")


def to_words(hidden: int, vocab: int, tied_to: str | None = None, *, bias: bool = False) -> Module:
    """The projection to the vocabulary, where its tie is known: V·H parameters, none when tied."""
    return Linear(
        hidden, vocab, bias=bias, tied_to=tied_to, component=Component.HEAD, kind="lm_head"
    )


def classifier(hidden: int, labels: int, *, bias: bool = True) -> Module:
    """A linear layer from the hidden size to the labels."""
    return Linear(hidden, labels, bias=bias, component=Component.HEAD, kind="classifier")


def dense_classifier(
    class_name: str, inputs: int, inner: int, labels: int, dropout: Module | None = None
) -> Module:
    """A linear layer before the one to the labels: H·I + I, then I·labels + labels."""
    return Module(
        class_name,
        dense=Linear(inputs, inner),
        dropout=dropout,
        out_proj=Linear(inner, labels),
        component=Component.HEAD,
        kind="classifier",
    )


def causal_lm(
    name: str,
    base: Base,
    *,
    prefix: str = "model",
    embedding: str = "embed_tokens",
    tied_default: bool | None = False,
    bias: bool | str = False,
    head: str = "lm_head",
) -> Builder:
    """``ForCausalLM``: the base model and an lm_head, tied to the token embedding (a path within
    the model) if the config says so (``tied_default`` is the config class's own default, None:
    never tied). ``bias`` may be the key that says whether the head has one."""

    def build(c: ModelConfig) -> Module:
        model = base(c)
        vocab, width = model.inside(*embedding.split(".")).tensor().shape
        tied = tied_default is not None and c.tied(default=tied_default)
        projection = to_words(
            width,
            vocab,
            f"{prefix}.{embedding}.weight" if tied else None,
            bias=c.flag(bias, default=False) if isinstance(bias, str) else bias,
        )
        return Module(name, {prefix: model, head: projection})

    return build


def register_tower(
    model_type: str,
    name: str,
    model: Builder,
    *,
    tied: bool | None = False,
    aliases: Mapping[str, str] | None = None,
    labels: Callable[[ModelConfig], Dim] | None = None,
) -> Family:
    """Add the text tower of a composite: ``{name}ForCausalLM`` and ``{name}TextModel``; ``tied`` is
    the default of the config class (see ``causal_lm``). ``labels``: one with labels as well, from
    states of that width."""
    causal = f"{name}ForCausalLM"
    labeller = f"{name}TextForSequenceClassification"
    classes = {causal: causal_lm(causal, model, tied_default=tied), f"{name}TextModel": model}
    if labels:
        classes[labeller] = labelled(labeller, model, hidden=labels)
    return register(
        model_type, classes, base_prefix="model", aliases=aliases, category="text decoder"
    )


def register_decoder(
    model_type: str | tuple[str, ...],
    name: str,
    model: Builder,
    *,
    source: str = "transformers",
    category: str = "text decoder",
    more: Mapping[str, Builder] | None = None,
    **options: Any,
) -> Family:
    """Add the usual classes of a decoder over ``model``, and ``more``; ``options`` are those of
    ``decoder_classes``."""
    classes = {**decoder_classes(name, model, **options), **(more or {})}
    return register(model_type, classes, base_prefix="model", category=category, source=source)


def register_headed(
    model_type: str,
    name: str,
    ending: str,
    model: Builder,
    category: str = "vision",
    **heads: FormPart,
) -> Family:
    """Add ``{name}Model``, and ``{name}{ending}``, which has it and these ``heads``."""
    headed = composed({f"{name}{ending}": {"model": model, **heads}}, part="vision")
    classes = {**headed, f"{name}Model": model}
    return register(model_type, classes, base_prefix="model", category=category)


def labelled(
    name: str,
    base: Base,
    *,
    prefix: str = "model",
    hidden: Callable[[ModelConfig], Dim] = hidden_size,
    labeller: str = "score",
) -> Builder:
    """A class of decoders that gives labels, as the end of its ``name`` says: of a text, without
    bias; of each token, under ``labeller``; or where an answer starts and ends."""
    forms: dict[str, dict[str, FormPart]] = {
        "ForSequenceClassification": {
            "score": lambda c: classifier(hidden(c), c.num_labels, bias=False)
        },
        "ForTokenClassification": {
            "dropout": lambda _: Dropout(0.1),
            labeller: lambda c: classifier(
                hidden(c), c.num_labels, bias=c.flag("token_classification_bias", default=True)
            ),
        },
        "ForQuestionAnswering": {"qa_outputs": lambda c: classifier(hidden(c), 2)},
    }
    form = next(form for ending, form in forms.items() if name.endswith(ending))
    return composed({name: {prefix: base, **form}})[name]


def sequence_summary(
    c: ModelConfig, class_name: str, hidden: int, labels: int, *, to_labels: bool = True
) -> Module:
    """One vector for a sequence: a projection to the labels (or to H) where summary_use_proj.
    ``to_labels`` is the family's default of summary_proj_to_labels.

    Source: SequenceSummary, which gpt2, openai-gpt, xlnet, xlm and electra copy.
    """
    to_labels = c.flag("summary_proj_to_labels", default=to_labels)
    projected = c.flag("summary_use_proj", default=True)
    width = labels if to_labels and labels > 0 else hidden
    return Module(
        class_name,
        summary=classifier(hidden, width) if projected else Activation("Identity"),
        component=Component.HEAD,
        kind="classifier",
    )


def decoder_classes(
    name: str,
    base: Base,
    *,
    prefix: str = "model",
    embedding: str = "embed_tokens",
    hidden: Callable[[ModelConfig], Dim] = hidden_size,
    tied_default: bool | None = False,
    bias: bool | str = False,
    heads: tuple[str, ...] = (
        "ForSequenceClassification",
        "ForTokenClassification",
        "ForQuestionAnswering",
    ),
    qa_prefix: str | None = None,
    causal: str = "ForCausalLM",
    labeller: str = "score",
) -> dict[str, Builder]:
    """The usual classes of a decoder-only family: ``{name}ForCausalLM`` first, ``{name}Model``,
    and those of ``heads``. ``qa_prefix``: some question-answering classes call the base model
    ``transformer``. ``labeller``: older families call it ``classifier``."""
    classes: dict[str, Builder] = {
        f"{name}{causal}": causal_lm(
            f"{name}{causal}",
            base,
            prefix=prefix,
            embedding=embedding,
            tied_default=tied_default,
            bias=bias,
        ),
        f"{name}Model": base,
    }
    for suffix in heads:
        at = qa_prefix if qa_prefix and suffix == "ForQuestionAnswering" else prefix
        classes[name + suffix] = labelled(
            name + suffix, base, prefix=at, hidden=hidden, labeller=labeller
        )
    return classes
