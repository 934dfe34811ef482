"""Labels from all names and shapes of a checkpoint: surroundings tell what a name leaves open.

A weight of one dimension is a norm's; one of three or more, whose name says nothing, a
convolution's. What stands beside q, k and v is attention's; beside ``A_log`` or a time decay, a
recurrent mixer's, even if it is called ``self_attn``. A list whose members hold attention and MLP
is a list of layers whatever its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..core.components import Component
from .name_words import PROJECTIONS
from .names import Hints, NameLabels, of_template, template_of

_A, _M, _S = Component.ATTENTION, Component.MLP, Component.SSM

#: Parameters that only a recurrence has: state-space models and linear attention keep a decay.
_DECAYS = frozenset({"A_log", "dt_bias", "time_decay", "time_decay_w1", "decay"})

#: Embeddings of patches' positions, or beside the patches: OpenCLIP's names.
_TABLES = frozenset({"positional_embedding", "class_embedding"})

#: Projections that only an attention has.
_QKV = frozenset(word for word, component in PROJECTIONS.items() if component is _A) - {"value"}


def labeller(tensors: Iterable[tuple[str, Sequence[int]]]) -> Callable[[str], NameLabels]:
    """A function from the tensors' names to their labels. ``tensors``: name and shape of each."""
    return _Surroundings(tensors).labels_of


class _Surroundings:
    """What modules hold, by their paths."""

    def __init__(self, tensors: Iterable[tuple[str, Sequence[int]]]) -> None:
        self.templates: dict[str, str] = {}
        self.dimensions: dict[str, int] = {}
        self.pointwise: set[str] = set()
        self.recurrent: set[str] = set()
        self.attending: set[str] = set()
        self.routing: set[str] = set()
        self.embedding: set[str] = set()
        scaled: set[str] = set()
        shifted: set[str] = set()
        for name, shape in tensors:
            self.templates[name] = template_of(name)
            module, _, leaf = name.rpartition(".")
            if leaf == "weight":
                if len(shape) != 2:
                    self.dimensions[module] = len(shape)
                    if len(shape) > 2 and all(size == 1 for size in shape[2:]):
                        self.pointwise.add(module)
                parent, _, child = module.rpartition(".")
                if child.lower() in _QKV:
                    self.attending.add(parent)
            elif leaf in _TABLES:
                self.embedding.add(module)
            elif leaf in _DECAYS:
                self.recurrent.add(module)
            elif leaf == "gamma":
                scaled.add(module)
            elif leaf == "beta":
                shifted.add(module)
            if ".experts." in name:
                self.routing.add(name.partition(".experts.")[0])
        self.dimensions.update(dict.fromkeys(scaled & shifted, 1))
        self.positions = _positions(set(self.templates.values()))
        self.bodies = _bodies(self.templates.values())

    def labels_of(self, name: str) -> NameLabels:
        template = self.templates.get(name)
        if template is None:
            template = template_of(name)
        module = name.rpartition(".")[0]
        parent = module.rpartition(".")[0]
        dimensions = self.dimensions.get(module, 2)
        hints = Hints(
            is_vector=dimensions == 1,
            is_filter=dimensions > 2,
            is_pointwise=module in self.pointwise,
            is_recurrent=bool(self.recurrent)
            and (module in self.recurrent or parent in self.recurrent),
            is_attending=parent in self.attending,
            is_routing=parent in self.routing,
            is_patching=dimensions == 4 and parent in self.embedding and module.endswith("conv1"),
            is_head=bool(self.bodies) and name.partition(".")[0] not in self.bodies,
            position=self.positions.get(template),
        )
        return of_template(template, hints)


def _positions(templates: Iterable[str]) -> dict[str, int]:
    """Which segment numbers the layer, for names whose list no word calls one of layers."""
    holds: dict[str, set[Component]] = {}
    listed: dict[str, tuple[str, int]] = {}
    for template in templates:
        labels = of_template(template)
        head, number, _ = template.partition(".0.")
        if labels.position is None and number:
            listed[template] = head, head.count(".") + 1
            holds.setdefault(head, set()).add(labels.component)
    layers = {head for head, kinds in holds.items() if _M in kinds and kinds & {_A, _S}}
    # XLM's lists stand side by side: attentions.0, ffns.0, layer_norm1.0 are parts of layer 0.
    beside: dict[str, set[Component]] = {}
    for head, kinds in holds.items():
        beside.setdefault(head.rpartition(".")[0], set()).update(kinds if len(kinds) == 1 else ())
    rows = {parent for parent, kinds in beside.items() if {_A, _M} <= kinds}
    return {
        template: position
        for template, (head, position) in listed.items()
        if head in layers or head.rpartition(".")[0] in rows
    }


def _bodies(templates: Iterable[str]) -> frozenset[str]:
    """The first segments below which layers stand, if a classifier stands beside them, else none.

    Whatever else is beside a classifier prepares its input: Wav2Vec2's ``projector``, EuroBERT's
    ``dense``.
    """
    distinct = set(templates)
    roots = {template.partition(".")[0] for template in distinct}
    if "classifier" not in roots:
        return frozenset()
    return frozenset(
        template.partition(".")[0]
        for template in distinct
        if of_template(template).position is not None
    )
