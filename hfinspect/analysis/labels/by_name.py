"""What a tensor's name says of itself, for models that the catalog doesn't know.

The segments of a name are read from the last to the first, whole and then by their words (``words``
is the vocabulary). The first module that is known decides, unless it is a part of one that it is
in. What comes before and after that are the ordered tables of ``rules``; ``other`` is an honest
answer. ``context`` reads the names of a whole checkpoint, where shapes and neighbours say more than
one name can. What belongs where is written down in ``core.components``.

The layer is the number under the first list that people call layers; trees say the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ...core.components import Component, Role
from .buffers import is_buffer
from .rules import BY_NEIGHBOURS, BY_PATTERN, BY_WEAK_WORD, Hints, NamePlace, first_match
from .words import module_word, projection_word, weak_word

_E = Component.EMBEDDING
_A = Component.ATTENTION
_M = Component.MLP
_N = Component.NORM
_R = Component.ROUTER
_S = Component.SSM
_C = Component.CONV
_P = Component.PROJECTOR
_H = Component.HEAD
_O = Component.OTHER

#: Components whose parts would by themselves be something else: a mixer's convolution, a
#: connector's layers, an attention's table of relative positions, the convolutions of a
#: segmentation head or of a norm's modulation, the classifier that is a router.
_WHOLES = {
    _S: {_C, _A},
    _P: {_A, _M, _C, _E},
    _A: {_E, _H, _P},
    _M: {_E},
    _H: {_C, _P},
    _N: {_C},
    _R: {_H, _M, _A, _P},
    _O: {_A, _M, _H, _P},
}

#: Modules that a projection may stand in without being a part of them.
_HOLDING_NO_PROJECTIONS = {_N, _C, _E}

#: A norm's tensors are at most this far below it (``norm1.conv_y.weight``).
_NORM_REACH = 2

_GATES = frozenset({"gate", "gate_weight"})

_DEPTHWISE = ("dw", "depthwise")

_PARTS = {
    "vision": (
        "vision_tower",
        "vision_model",
        "visual",
        "image_encoder",
        "vision_encoder",
        "vision",
        "vit",
        "image_tower",
        "v",
        "v_enc",
    ),
    "audio": ("audio_tower", "audio_model", "audio_encoder", "speech_encoder", "audio", "a"),
    "projector": (
        "multi_modal_projector",
        "mm_projector",
        "connector",
        "projector",
        "visual_projection",
        "modality_projection",
        "vision_language_adapter",
        "aligner",
        "embed_vision",
        "embed_audio",
        "mm",
        "merger",
        "mlp1",
        "layerwise_projectors",
        "spatial_projectors",
    ),
}
_PART_TABLE = {word: part for part, words in _PARTS.items() for word in words}

#: Lists whose members people call layers (not experts, not the parts of an MLP).
_LAYER_LISTS = frozenset(
    """layers h blocks block blk layer resblocks transformer_blocks single_transformer_blocks stages
    up down down_blocks up_blocks encoder_layers decoder_layers mtp_layers transformer_layers
    albert_layer_groups attentions_layers transformer_encoder""".split()
)

#: What has a list of that name, of parts that nobody calls layers.
_NO_LAYERS = frozenset("psp_modules task_mlp text_projector mask_embed sampling_layers".split())


class NameLabels(NamedTuple):
    """Labels known from a name. ``position`` is the index of the segment that numbers the layer."""

    component: Component
    role: Role
    part: str
    position: int | None


NO_HINTS = Hints()


def labels_of(name: str) -> NameLabels:
    """Labels of a tensor by its name alone; equal for names that differ in numbers only."""
    return of_template(template_of(name))


def layer_of(name: str, labels: NameLabels) -> tuple[str | None, int | None]:
    """``(stack, layer)``: ``("model.layers", 7)`` for ``model.layers.7.mlp.up_proj.weight``."""
    if labels.position is None:
        return None, None
    segments = name.split(".")
    number = segments[labels.position]
    # Longer numbers are no layers but somebody's idea of a joke (and int() would be slow).
    if len(number) > 6:
        return None, None
    return ".".join(segments[: labels.position]), int(number)


def template_of(name: str) -> str:
    """The name with 0 for every number. A regular expression takes twice as long."""
    return ".".join(["0" if word.isdecimal() else word for word in name.split(".")])


@lru_cache(maxsize=50_000)
def of_template(template: str, hints: Hints = NO_HINTS) -> NameLabels:
    """Labels of all names with this template, in surroundings that show so much."""
    words = template.lower().split(".")
    position = _layer_position(words) if hints.position is None else hints.position
    component = _component(words, position, hints)
    as_buffer = is_buffer(words, is_frozen=hints.is_frozen, is_routing=hints.is_routing)
    role = Role.BUFFER if as_buffer else Role.PARAMETER
    part = next((_PART_TABLE[word] for word in words[:3] if word in _PART_TABLE), "text")
    return NameLabels(component, role, part, position)


def _component(words: list[str], position: int | None, hints: Hints) -> Component:
    shown = first_match(BY_NEIGHBOURS, NamePlace(words, position, hints))
    if shown is not None:
        return shown
    by_words = _by_words(words, position, hints)
    if hints.is_recurrent and by_words not in (_N, _R):
        return _S
    if hints.is_head and position is None and by_words not in (_N, _E, _A) and not hints.is_filter:
        # An MLP block of a head is one; the two Linears of a classifier are the head.
        is_block = by_words is _M and _M in map(module_word, words)
        return by_words if is_block else _H
    return by_words


def _by_words(words: list[str], position: int | None, hints: Hints) -> Component:
    """The component that a name's own words say; hints decide between two readings of them."""
    if "flow_net" in words:
        words = [word for word in words if word != "res_blocks"]  # of Linears, in a head
    whole_name = first_match(BY_PATTERN, NamePlace(words, position, hints))
    if whole_name is not None:
        return whole_name
    # What is in a layer belongs to nothing that the layer is in, but for a connector's layers.
    starts = [i for i in range(1, len(words)) if _numbers_a_layer(words, i)]
    start = max([*starts[-1:], position or 0])
    component = _read(words[start:], hints) or _read(words, hints)
    if component is _C and not hints.is_filter and _C not in map(module_word, words[start:]):
        # A Linear in a layer of "conv_encoder", which may be a Swin, or between q, k and v.
        if hints.is_attending:
            return _A
        if start and any(map(weak_word, words[start:])):
            return _by_weak_words(words[start:], position, hints)
    if component is _C and hints.is_pointwise and position is not None:
        # A 1x1 convolution is a projection, of the attention or the MLP that it stands in.
        last = next(i for i in reversed(range(len(words))) if module_word(words[i]) is _C)
        outside = words[:last] + words[last + 1 :]
        rest = _by_words(outside, position, hints._replace(is_pointwise=False))
        return rest if rest in (_A, _M) else _C
    if component is None:
        return _by_weak_words(words, position, hints)
    if component in _WHOLES[_P] and _P in map(module_word, words[:start]):
        return _P
    if component is _M and position is None and _is_beside_layers(words):
        return _P
    if component is _M and not _GATES.isdisjoint(words):
        return _R  # "mlp.gate" is a router: the weaker word below the stronger one
    return component


def _is_beside_layers(words: list[str]) -> bool:
    """Of an MLP in no layer: whether it connects two models, as InternVL's ``mlp1`` does."""
    if words[words[0] == "model"].startswith("mlp") or "adapter" in words:
        return True
    return any("proj" in word.split("_") for word in words[:-2])  # "proj_mlp.fc1"


def _by_weak_words(words: list[str], position: int | None, hints: Hints) -> Component:
    """Where no module and no projection is known."""
    components = [*filter(None, map(weak_word, reversed(words)))]
    weak = next(iter(components), None)
    place = NamePlace(words, position, hints, weak, components[1:])
    return first_match(BY_WEAK_WORD, place) or weak or _O


def _read(words: list[str], hints: Hints) -> Component | None:
    """The component that some segments say, from the last to the first."""
    component: Component | None = None
    projection: Component | None = None  # until the module that it stands in is found
    at = 0
    modules = [
        word
        for word, after in zip(words, [*words[1:], ""], strict=True)
        if word != "0" and not (word == "intermediate" and after == "0")  # a list of them is none
    ]
    for i, word in enumerate(reversed(modules)):
        module = module_word(word)
        if module is None:
            part = projection_word(word)
            if component is None:
                projection = projection or part
            elif part is _S and component is _C and modules[~at] != "conv":
                component = _S  # mixer.conv1d
        elif module is _N and i > _NORM_REACH:
            continue
        elif component is None:
            if projection is None or module not in _HOLDING_NO_PROJECTIONS:
                component = module
                at = i
        elif _is_part(component, modules[~at], module, near=i == at + 1):
            component = module
            at = i
    if component is None and projection is _S and hints.is_attending:
        return _A  # not every module called mixer is a recurrent one
    return component or projection


def _is_part(part: Component, name: str, holder: Component, *, near: bool) -> bool:
    """Whether a module is counted to one that it stands in; ``near``: right in it."""
    if holder is _E:
        return near and part is _M  # ``audio_embed`` may hold a whole encoder
    if holder is _M and part is _C:
        # One of the MLP's two layers, as in VITS, but for a depthwise one between them.
        return near and not name.startswith(_DEPTHWISE)
    return part in _WHOLES.get(holder, ())


def _numbers_a_layer(words: list[str], i: int) -> bool:
    """Whether the word there is a layer's number: not that of a Linear of a head's."""
    return (
        words[i] == "0"
        and words[i - 1] in _LAYER_LISTS
        and _NO_LAYERS.isdisjoint(words[max(i - 3, 0) : i - 1])
    )


def _layer_position(words: list[str]) -> int | None:
    """The first number under a list that people call layers.

    None of what has no modules of its own (``bbox_predictor.layers.0.weight``).
    """
    for i in range(1, len(words)):
        if _numbers_a_layer(words, i):
            return None if words[i + 1 :] in (["weight"], ["bias"]) else i
    return None
