"""Heads over speech: characters (CTC), labels of texts, frames and speakers, codebooks.

Source: as in speech.py; every descendant of wav2vec 2.0 copies them.
"""

from __future__ import annotations

from collections.abc import Callable

from ..trees import Component, Dim, ModelConfig
from ..trees.modules import Activation, Dropout, Linear, Module, ModuleList, Parameter, Weight
from .blocks import size
from .composing import FormPart
from .encoders import hidden
from .heads import classifier, to_words
from .speech import conv_sizes, output_width

#: What reads a size of a config.
Width = Callable[[ModelConfig], Dim]


def layer_weights(c: ModelConfig) -> Parameter | None:
    """One weight per layer (and the input) where a classifier reads all of them."""
    weight = Weight(c.count("num_hidden_layers") + 1, component=Component.HEAD)
    return weight if c.flag("use_weighted_layer_sum", default=False) else None


def _tdnn(c: ModelConfig) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
    sizes = c.dims("tdnn_dim")
    kernels = c.dims("tdnn_kernel")
    if not sizes or len(kernels) < len(sizes):
        raise c.miscounted("tdnn_kernel", len(kernels), f"as many as tdnn_dim: {len(sizes)}")
    return sizes, kernels


def tdnn(c: ModelConfig) -> Module:
    """Time-delay layers: a window of frames each, as one linear layer."""
    sizes, kernels = _tdnn(c)
    inputs = (sizes[0], *sizes[:-1])
    built = [
        Module("TDNNLayer", kernel=Linear(a * k, b), activation=Activation("ReLU"))
        for a, b, k in zip(inputs, sizes, kernels, strict=False)
    ]
    return ModuleList(built, component=Component.HEAD)


def speaker_objective(c: ModelConfig) -> Module:
    """The weight of the training's loss, which is saved too: (xvector_output_dim, labels)."""
    weight = Weight(c.dim("xvector_output_dim"), c.num_labels)
    return Module("AMSoftmaxLoss", weight=weight, component=Component.HEAD, kind="classifier")


def linear(
    inputs: Width, outputs: Width, component: Component = Component.HEAD, kind: str | None = None
) -> FormPart:
    """A linear layer between two sizes of the config."""
    return lambda c: Linear(inputs(c), outputs(c), component=component, kind=kind)


#: Widths of the classifiers of texts and of speakers.
_TEXTS = size("classifier_proj_size", default=256)
_SPEAKERS = size("xvector_output_dim", default=512)
#: What stands next to the base model in each class.
SEQUENCE: dict[str, FormPart] = {
    "layer_weights": layer_weights,
    "projector": linear(hidden, _TEXTS, kind="classifier"),
    "classifier": lambda c: classifier(_TEXTS(c), c.num_labels),
}
FRAMES: dict[str, FormPart] = {
    "layer_weights": layer_weights,
    "classifier": lambda c: classifier(hidden(c), c.num_labels),
}
SPEAKER: dict[str, FormPart] = {
    "layer_weights": layer_weights,
    "projector": linear(hidden, lambda c: _tdnn(c)[0][0]),
    "tdnn": tdnn,
    "feature_extractor": linear(lambda c: _tdnn(c)[0][-1] * 2, _SPEAKERS),
    "classifier": linear(_SPEAKERS, _SPEAKERS),
    "objective": speaker_objective,
}


#: Logits of the characters for each frame, from the width behind the adapter.
LETTERS: dict[str, FormPart] = {
    "dropout": lambda c: Dropout(c.number("final_dropout", default=0.1)),
    "lm_head": lambda c: to_words(output_width(c), c.dim("vocab_size"), bias=True),
}


def quantizer(c: ModelConfig, name: str, *, inputs: Dim | None = None) -> Module:
    """Codebooks that distinguish the masked frames; ``inputs`` where it isn't the features."""
    groups = c.dim("num_codevector_groups", default=2)
    entries = c.dim("num_codevectors_per_group", default=320)
    size = c.dim("codevector_dim", default=256)
    width = c.divided(size, groups, "codevector_dim", "num_codevector_groups")
    return Module(
        f"{name}GumbelVectorQuantizer",
        codevectors=Weight(1, groups * entries, width),
        weight_proj=Linear(inputs or conv_sizes(c)[-1][1], groups * entries),
        component=Component.EMBEDDING,
    )
