"""Labels from all names and shapes of a checkpoint: surroundings show what a name leaves open.

A weight of one dimension is a norm's; one of three or more, whose name says nothing, a
convolution's. What stands next to q, k and v is attention's; next to ``A_log`` or a time decay, a
recurrent mixer's, even if it is called ``self_attn``. A text's positions that are a bare tensor,
next to a table of tokens and the positions' numbers, are sines: a learned table is a module of its
own, with a weight. A list whose members hold attention and MLP
is a list of layers whatever its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...core.components import Component
from .by_name import NameLabels, of_template, template_of
from .rules import Hints
from .words import PROJECTIONS, module_word

_A = Component.ATTENTION
_M = Component.MLP
_S = Component.SSM
_E = Component.EMBEDDING
_O = Component.OTHER

#: Parameters that only a recurrence has: state-space models and linear attention keep a decay.
_DECAYS = frozenset({"A_log", "dt_bias", "time_decay", "time_decay_w1", "decay", "slope_rate"})

#: Of lightning attention, whose decay MiniMax's own files leave out.
_LIGHTNING = "output_gate"

#: Embeddings of patches' positions, or next to the patches: OpenCLIP's names.
_TABLES = frozenset({"positional_embedding", "class_embedding"})

#: Projections that only an attention has.
_QKV = frozenset(word for word, component in PROJECTIONS.items() if component is _A) - {"value"}
_QKV |= {"Wqkv", "W_pack", "q", "k", "v"}

#: Next to a whole model one of them may be a head; all three join two models (X-Codec).
_JOINING = frozenset({"fc", "fc1", "fc2"})

_PARAMETRIZED = ".parametrizations"

_VECTOR = "vector"
_FILTER = "filter"
_POINTWISE = "pointwise"


def labeller(tensors: Iterable[tuple[str, Sequence[int]]]) -> Callable[[str], NameLabels]:
    """A function from the tensors' names to their labels. ``tensors``: name and shape of each."""
    return _Surroundings(tensors).labels_of


class _Surroundings:
    """What modules are and hold, by their paths. Written for a hundred thousand names."""

    def __init__(self, tensors: Iterable[tuple[str, Sequence[int]]]) -> None:
        self._templates: dict[str, str] = {}
        self._shapes: dict[str, str] = {}
        self._attending: set[str] = set()
        self._routing: set[str] = set()
        self._recurrent: set[str] = set()
        self._patching: set[str] = set()
        self._frozen: set[str] = set()
        self._sines: set[str] = set()
        self._parametrized = False
        self._known: dict[tuple[object, ...], NameLabels] = {}
        affine: dict[str, set[str]] = {}
        counting: set[str] = set()
        numbering: set[str] = set()
        experts = ".experts."
        tensors = list(tensors)
        for name, shape in tensors:
            self._templates[name] = template_of(name)
            module, _, leaf = name.rpartition(".")
            if leaf == "weight":
                if len(shape) != 2:
                    self._shapes[module] = _kind(shape)
                parent, _, child = module.rpartition(".")
                if child in _QKV:
                    self._attending.add(parent)
                elif parent.endswith("keys_values"):  # LeViT: a matrix and its norm
                    inner = parent.rpartition(".")[0]
                    self._attending |= {f"{inner}.projection", f"{inner}.queries"}
                elif child == _LIGHTNING:
                    self._recurrent.add(parent)
            elif leaf in _DECAYS:
                self._recurrent.add(module)
            elif leaf == "running_mean":
                self._frozen.add(module)
            elif leaf == "num_batches_tracked":
                counting.add(module)
            elif leaf in _TABLES:
                self._patching.add(module)
            elif leaf == "position_ids":
                numbering.add(module)
            elif leaf in ("gamma", "beta"):
                affine.setdefault(module, set()).add(leaf)
            elif leaf == "original":  # of torch.nn.utils.parametrize
                self._parametrized = True
                parent, _, child = module.partition(_PARAMETRIZED)[0].rpartition(".")
                if child in _QKV:
                    self._attending.add(parent)
            if ".experts." in name and not name.startswith(experts):
                routed = name.partition(".experts.")[0]
                self._routing.add(routed)
                experts = f"{routed}.experts."  # of the names to come
        self._frozen -= counting
        self._sines = {
            f"{module}.position_embedding"
            for module in numbering
            if f"{module}.token_embedding.weight" in self._templates
        }
        self._shapes.update((module, _VECTOR) for module in affine if len(affine[module]) == 2)
        templates = set(self._templates.values())
        self._joins = templates.issuperset(f"{name}.weight" for name in _JOINING)
        self._positions = _positions(templates)
        self._bodies = _bodies(templates)
        self._unembedding = _unembedding(
            templates, ((self._templates[name], shape) for name, shape in tensors)
        )

    def labels_of(self, name: str) -> NameLabels:
        template = self._templates.get(name)
        if template is None:
            template = template_of(name)
        module = name.rpartition(".")[0]
        if self._parametrized:
            module = module.partition(_PARAMETRIZED)[0]
        parent = module.rpartition(".")[0]
        features = (
            template,
            self._shapes.get(module),
            parent in self._recurrent or module in self._recurrent,
            parent in self._attending,
            parent in self._routing,
            parent in self._patching,
            bool(self._bodies) and name.partition(".")[0] not in self._bodies,
            module in self._frozen or name in self._sines,
        )
        known = self._known.get(features)
        if known is None:
            known = of_template(template, self._hints(*features))
            if self._joins and template.partition(".")[0] in _JOINING:
                known = known._replace(component=Component.PROJECTOR)
            self._known[features] = known
        return known

    def _hints(
        self,
        template: str,
        kind: str | None,
        recurrent: bool,
        attending: bool,
        routing: bool,
        patching: bool,
        head: bool,
        frozen: bool,
    ) -> Hints:
        return Hints(
            is_vector=kind == _VECTOR,
            is_filter=kind in (_FILTER, _POINTWISE),
            is_pointwise=kind == _POINTWISE,
            is_recurrent=recurrent,
            is_attending=attending,
            is_routing=routing,
            is_head=head,
            is_frozen=frozen,
            is_patching=patching and kind == _FILTER and template.endswith("conv1.weight"),
            is_unembedding=template.rpartition(".")[0] == self._unembedding,
            position=self._positions.get(template),
        )


def _kind(shape: Sequence[int]) -> str:
    if len(shape) < 2:
        return _VECTOR if shape else ""
    return _FILTER if any(size != 1 for size in shape[2:]) else _POINTWISE


def _positions(templates: Iterable[str]) -> dict[str, int]:
    """Which segment numbers the layer, for names whose list no word calls one of layers."""
    holds: dict[str, set[Component]] = {}
    listed: dict[str, tuple[str, int]] = {}
    stacks: set[str] = set()
    for template in templates:
        labels = of_template(template)
        if labels.position is not None:
            stacks.add(".".join(template.split(".")[: labels.position]))
            continue
        head, number, _ = template.partition(".0.")
        if number:
            listed[template] = head, head.count(".") + 1
            holds.setdefault(head, set()).add(labels.component)
    layers = {head for head, kinds in holds.items() if _M in kinds and kinds & {_A, _S}}
    layers |= stacks  # of whose members some have no modules of their own
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


def _unembedding(
    templates: Iterable[str], tensors: Iterable[tuple[str, Sequence[int]]]
) -> str | None:
    """The one matrix of the same shape as the tokens' table that no word calls a head, if any.

    ``tensors``: template and shape of each. A list's member is looked at only where its name says
    nothing at all: in a small model an MLP's matrix may have that shape.
    """
    kinds: dict[str, bool] = {}
    distinct = set(templates)
    for template in distinct:
        module, _, leaf = template.rpartition(".")
        component = of_template(template).component
        if component is _E and module_word(module.rpartition(".")[2].lower()) is _E:
            if f"{module}.bias" not in distinct:  # which patches have, and tokens never
                kinds[template] = True
        elif leaf == "weight" and (component is _O or (component is _M and ".0." not in template)):
            kinds[template] = False
    if len(set(kinds.values())) < 2:
        return None
    tables: set[tuple[int, ...]] = set()
    others: list[tuple[str, tuple[int, ...]]] = []
    for template, shape in tensors:
        is_table = kinds.get(template)
        if is_table and len(shape) == 2:
            tables.add(tuple(shape))
        elif is_table is False:
            others.append((template, tuple(shape)))
    heads = [template for template, shape in others if shape in tables]
    return heads[0].rpartition(".")[0] if len(heads) == 1 else None


def _bodies(templates: Iterable[str]) -> frozenset[str]:
    """The first segments below which layers stand, if a classifier stands next to them, else none.

    Whatever else is next to a classifier prepares its input: Wav2Vec2's ``projector``, EuroBERT's
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
