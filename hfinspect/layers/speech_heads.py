"""Heads over speech: characters (CTC), labels of texts, frames and speakers, codebooks.

Source: as in speech.py; every descendant of wav2vec 2.0 copies them.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.modules import Activation, Dropout, Linear, Module, ModuleList, Parameter, Weight
from .composing import Part
from .encoders import hidden
from .heads import classifier
from .speech import conv_sizes, output_width


def ctc_head(c: ModelConfig) -> Module:
    """Logits of the characters for each frame: (vocab_size, width behind the adapter)."""
    size = c.dim("vocab_size")
    return Linear(output_width(c), size, component=Component.HEAD, kind="lm_head")


def layer_weights(c: ModelConfig) -> Parameter | None:
    """One weight per layer (and the input) where a classifier reads all of them."""
    used = c.flag("use_weighted_layer_sum", default=False)
    weight = Weight(c.count("num_hidden_layers") + 1, component=Component.HEAD)
    return weight if used else None


def projector(c: ModelConfig) -> Module:
    """From the width D to that of the classifier: (classifier_proj_size, D)."""
    size = c.dim("classifier_proj_size")
    return Linear(hidden(c), size, component=Component.HEAD, kind="classifier")


def projected_labels(c: ModelConfig) -> Module:
    """The classifier behind the projector: (labels, classifier_proj_size)."""
    return classifier(c.dim("classifier_proj_size"), c.num_labels)


def frame_labels(c: ModelConfig) -> Module:
    """Labels of each frame: (labels, D)."""
    return classifier(hidden(c), c.num_labels)


def _tdnn(c: ModelConfig) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
    sizes, kernels = c.dims("tdnn_dim"), c.dims("tdnn_kernel")
    if not sizes or len(kernels) < len(sizes):
        raise c.miscounted("tdnn_kernel", len(kernels), f"as many as tdnn_dim: {len(sizes)}")
    return sizes, kernels


def speaker_projector(c: ModelConfig) -> Module:
    """From the width D to that of the first time-delay layer: (tdnn_dim[0], D)."""
    return Linear(hidden(c), _tdnn(c)[0][0], component=Component.HEAD)


def tdnn(c: ModelConfig) -> Module:
    """Time-delay layers: a window of frames each, as one linear layer."""
    sizes, kernels = _tdnn(c)
    inputs = (sizes[0], *sizes[:-1])
    built = [
        Module("TDNNLayer", kernel=Linear(a * k, b), activation=Activation("ReLU"))
        for a, b, k in zip(inputs, sizes, kernels, strict=False)
    ]
    return ModuleList(built, component=Component.HEAD)


def speaker_features(c: ModelConfig) -> Module:
    """Mean and deviation over time to one vector: (xvector_output_dim, 2·tdnn_dim[-1])."""
    last = _tdnn(c)[0][-1]
    return Linear(last * 2, c.dim("xvector_output_dim"), component=Component.HEAD)


def speaker_vector(c: ModelConfig) -> Module:
    """The vector of a speaker: (xvector_output_dim, xvector_output_dim)."""
    size = c.dim("xvector_output_dim")
    return Linear(size, size, component=Component.HEAD)


def speaker_objective(c: ModelConfig) -> Module:
    """The weight of the training's loss, which is saved too: (xvector_output_dim, labels)."""
    size = c.dim("xvector_output_dim")
    weight = Weight(size, c.num_labels)
    return Module("AMSoftmaxLoss", weight=weight, component=Component.HEAD, kind="classifier")


#: What stands next to the base model in each class.
SEQUENCE: dict[str, Part] = {
    "layer_weights": layer_weights, "projector": projector, "classifier": projected_labels,
}  # fmt: skip
FRAMES: dict[str, Part] = {"layer_weights": layer_weights, "classifier": frame_labels}
SPEAKER: dict[str, Part] = {
    "layer_weights": layer_weights, "projector": speaker_projector, "tdnn": tdnn,
    "feature_extractor": speaker_features, "classifier": speaker_vector,
    "objective": speaker_objective,
}  # fmt: skip


def dropout(c: ModelConfig) -> Module:
    """Dropout before a head, of the config's rate."""
    return Dropout(c.number("final_dropout", default=0.1))


#: What ``ForCTC`` has after the model.
LETTERS: dict[str, Part] = {"dropout": dropout, "lm_head": ctc_head}


def quantizer(c: ModelConfig, name: str, *, seen: Dim | None = None) -> Module:
    """Codebooks that distinguish the masked frames; ``seen`` where it isn't the features."""
    groups, entries = (
        c.dim("num_codevector_groups", default=2),
        c.dim("num_codevectors_per_group", default=320),
    )
    width = c.divided(
        c.dim("codevector_dim", default=256), groups, "codevector_dim", "num_codevector_groups"
    )
    return Module(
        f"{name}GumbelVectorQuantizer",
        codevectors=Weight(1, groups * entries, width),
        weight_proj=Linear(seen or conv_sizes(c)[-1][1], groups * entries),
        component=Component.EMBEDDING,
    )
