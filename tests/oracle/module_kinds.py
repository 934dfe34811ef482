"""The component of a tensor by the classes of the real modules that it stands in.

Only what those classes, and how they stand together, say clearly: a Linear right in an attention,
an Embedding, what a class for a task has next to its base model.  What the house counts to a whole
around it (``core.components``) is left out where the classes can't say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

#: Modules that say nothing of what they are for.
_PLAIN = re.compile(
    r"(Linear|Conv1D|Module(List|Dict)|Sequential|Parametri\w+|Dropout|MLPLayerWithBN)$"
)
_LINEAR = re.compile(r"(Linear|Conv1D)$")
_FILTER = re.compile(r"Conv(Transpose)?[123]d$")
_NORM = re.compile(r"(Norm|Norm[123]d|NormGated|Norm2D)$")
_ROUTER = re.compile(r"Router$|MoEGate$")
#: Linear attention is counted to ssm.
_SSM = re.compile(
    r"Mamba\w*Mixer|DeltaNet|Rglru|RecurrentBlock|Linear\w*Attention$|Lightning\w*Attention"
    r"|Rwkv\w*Attention|DeltaAttention"
)
_ATTENTION = re.compile(r"Attention$|SelfOutput$|Attn$|AttentionHF$")
_MLP = re.compile(
    r"(MLP(Block)?|Mlp|FeedForward(Network)?|FFN|Experts?|Intermediate|DenseReluDense"
    r"|DenseActDense)$"
)
#: What has parts of any kind and keeps them: connectors, heads; residuals are of no group.
_WHOLE = re.compile(
    r"Projector|Merger|Resampler|Connector|Aligner|Projection$|Adapter|PixelShuffle|Residual|Head$"
    r"|Predictor|Pooler|MixerMLP|AttentionalPropagation|Norm"
)
_WHOLE_NAME = re.compile(
    r"(^|[._])(heads?|bbox_embed|predictor|proj|projector|reg_conf|gates?|adapter|pooler|linear_c|lm"
    r"|time_embed|lm_head)([._]|$)"
)
#: SigLIP's head that pools by attention is in its parts.
_POOLING = re.compile(r"AttentionPoolingHead$")
#: Connectors from one modality to another; their norms are norm.
_PROJECTOR = re.compile(r"Projector|Merger$|Resampler$|Connector$")
_PATCHES = re.compile(r"Patch\w*Embed(ding|dings)?$|(Vision|Image|Audio)Embeddings$")
#: By name, what keeps its convolutions, and what is made of them but is called otherwise.
_KEEPING_FILTERS = re.compile(
    r"head|proj|mixer|mamba|feed_forward|ffn|mlp|embed|pred|postnet|adapter|assign"
)
_HEAD = re.compile(r"(Prediction|LM|MLM|NSP|PreTraining)Heads?$|PredictionHeadTransform$")
_TASK_HEADS = frozenset({"classifier", "score", "qa_outputs"})


class Around(NamedTuple):
    """A tensor's surroundings: its own name, the modules that it stands in, the outermost first."""

    name: str
    modules: Sequence[Any]

    @property
    def classes(self) -> list[str]:
        return [type(module).__name__ for module in self.modules]


def kind_of(name: str, modules: Sequence[Any], saved: str) -> str | None:
    """``modules`` around the tensor ``name``, the outermost first; ``saved``: its name in files."""
    around = Around(name, modules)
    classes = around.classes
    if _NORM.search(classes[-1]):
        return "norm"
    kind = _of_task(around) or _of_class(name, classes) or _of_structure(around)
    return None if kind == "conv" and "head" in saved else kind


def _of_class(name: str, classes: Sequence[str]) -> str | None:
    """What the class of the innermost module that says anything is."""
    inner = classes[-1]
    segments = name.split(".")
    holder = next((name for name in reversed(classes) if not _PLAIN.search(name)), "")
    pools = any(map(_POOLING.search, classes))
    is_whole = not pools and (
        any(map(_WHOLE.search, classes[1:])) or _WHOLE_NAME.search(".".join(segments[:-2]))
    )
    if inner.endswith("Embedding") and len(classes) > 1:
        return None if is_whole else _table(name, classes)
    if holder == classes[0] or not (inner == holder or _PLAIN.search(inner)):
        return None
    if _ROUTER.search(holder):
        return "router"
    if _SSM.search(holder):
        return "ssm"
    if is_whole or segments[-2:-1] == ["shared_expert_gate"]:
        return None
    if any(map(_ATTENTION.search, classes[1:])) and (
        _ATTENTION.search(holder) or _MLP.search(holder)
    ):
        return "attention"  # JetMoE's experts in an attention too
    return "mlp" if _MLP.search(holder) else None


def _table(name: str, classes: Sequence[str]) -> str:
    """Tables of distances between tokens are attention's."""
    holder = next(name for name in reversed(classes[:-1]) if not _PLAIN.search(name))
    relative = re.search(r"relative_|rel_embeddings|\bpe_k", name)
    return "attention" if relative or _ATTENTION.search(holder) else "embedding"


# ---- heads


def _of_task(around: Around) -> str | None:
    """What a class for a task has of its own next to its base model, where it is linear layers."""
    root, *inner = around.modules
    first = around.name.partition(".")[0]
    if first in _TASK_HEADS:
        return "head"
    if not inner or "For" not in type(root).__name__ or not _is_linear(inner[0]):
        return None
    if first == "lm_head":
        return "head"
    base = getattr(root, "base_model", root)
    if base is root or base is inner[0] or _PROJECTOR.search(type(inner[0]).__name__):
        return None
    # A class that generates has more than a base and a head: towers, connectors, codecs; one that
    # is trained beforehand may have a decoder, one of time series what scales its input.
    is_more = re.search("Generation|PreTraining", type(root).__name__)
    return None if is_more or "Scale" in type(inner[0]).__name__ else "head"


def _is_linear(module: Any) -> bool:
    """Whether all that the module holds is in linear layers."""
    if any(_ATTENTION.search(type(one).__name__) for one in module.modules()):
        return False  # of blocks
    holding = [one for one in module.modules() if one._parameters]
    return (
        bool(holding)
        and all(
            _LINEAR.search(type(one).__name__) or _NORM.search(type(one).__name__)
            for one in holding
        )
        and any(_LINEAR.search(type(one).__name__) for one in holding)
    )


# ---- how modules stand together


def _of_structure(around: Around) -> str | None:
    modules = around.modules
    classes = around.classes
    inner = classes[-1]
    if len(classes) > 1 and (inner in ("LSTM", "GRU") or inner.endswith("LayerScale")):
        return "other"
    if len(classes) > 1 and inner.endswith("Embeddings"):
        return "embedding"  # a token or a table of its own
    if len(classes) < 3:
        return None
    heads = any("Head" in one or "Predictor" in one for one in classes[1:])
    if any(map(_PROJECTOR.search, classes[1:])):
        return None if heads else "projector"
    filters = [
        one
        for one in modules[1:]
        if _FILTER.search(type(one).__name__) and hasattr(one, "kernel_size")
    ]
    if filters:
        return None if heads else _of_filter(around, filters[-1])
    if not _LINEAR.search(inner):
        return None
    if any(map(_HEAD.search, classes[1:3])) or (
        classes[-2].endswith("Pooler") and len(classes) <= 4
    ):
        return "head"
    if classes[-2].endswith("Output") and _has(modules[-3], _INTERMEDIATE):
        return "mlp"  # BERT's second half of an MLP
    if _has(modules[-2], _ATTENTION) and _is_pair(modules[-2], modules[-1]):
        return "mlp"  # fc1 and fc2 right in a layer
    return None


_INTERMEDIATE = re.compile(r"Intermediate$")


def _has(module: Any, classes: re.Pattern[str]) -> bool:
    return any(classes.search(type(child).__name__) for child in module.children())


def _is_pair(layer: Any, linear: Any) -> bool:
    """Whether the layer has one other linear layer of its own, of the opposite shape."""
    own = [child for child in layer.children() if type(child).__name__ == "Linear"]
    widths = [(child.in_features, child.out_features) for child in own]
    if len(own) != 2 or linear not in own:
        return False
    return widths[0] == widths[1][::-1] and widths[0][0] != widths[0][1]


def _of_filter(around: Around, convolution: Any) -> str | None:
    """Of patches, or a convolution of more than one point that is no part of a whole."""
    name = around.name.lower()
    classes = around.classes
    if any(map(_PATCHES.search, classes[-3:-1])) and "patch" in name:
        return None if "sample" in name else "embedding"
    if "patch" in name or _KEEPING_FILTERS.search(name.rpartition(".")[0]):
        return None
    known = (_SSM, _ATTENTION, _WHOLE, _ROUTER, _MLP)
    if any(pattern.search(one) for one in classes[1:] for pattern in known):
        return None
    return "conv" if max(convolution.kernel_size) > 1 else None
