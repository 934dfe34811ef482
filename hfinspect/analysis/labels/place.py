"""Where each tensor belongs: labels from the architecture's tree, or from the name alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, partial
from itertools import repeat
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, cast

from ...core.checkpoint import Shard
from ...core.components import Component, Role
from ...core.extents import Extent
from ...core.tensor import Packed, StoredTensor, TensorInfo, TensorSpec, nbytes_of
from ...trees.prediction import Prediction
from ..shared_storage import sharing_of
from ..tensor_table import TensorTable
from .buffers import BUFFER_DTYPES
from .by_name import NameLabels, layer_of
from .context import labeller
from .lookup import specs_finder
from .routing import Routing, is_routed

if TYPE_CHECKING:
    from ..quantization.decoding import Decoded
    from ..quantization.packing import Packing

#: A member of an Enum costs a call to look up.
_PARAMETER = Role.PARAMETER
_NAME = itemgetter(0)
_TIED_TO = TensorSpec._fields.index("tied_to")


class Labelled(NamedTuple):
    """Labelled tensors, next to each its spec if the tree knew it, and ties: name -> name kept."""

    tensors: Sequence[TensorInfo]
    known_specs: Sequence[TensorSpec | None]
    tied: Mapping[str, str]

    @property
    def specs(self) -> dict[str, TensorSpec]:
        """Stored name -> spec, made anew at each call; of a name in two shards the last counts."""
        return _by_name(self.tensors, self.known_specs)


def _by_name(
    tensors: Iterable[TensorInfo], known_specs: Iterable[TensorSpec | None]
) -> dict[str, TensorSpec]:
    pairs = zip(map(_NAME, tensors), known_specs, strict=True)
    return {name: spec for name, spec in pairs if spec is not None}


def place_expected(prediction: Prediction, packing: Packing | None = None) -> Labelled:
    """Tensors as predicted, in the config's dtype; a buffer's own dtype where it has one.

    ``packing`` says how they are stored if the model is quantised. Where it does not follow from
    the config, dtypes and bytes of parameters are unknown.
    """
    is_packed = packing is not None and packing.specs is not None
    dtype = prediction.dtype if packing is None else packing.dtype
    specs = packing.tensors if packing is not None and is_packed else prediction.tensors
    infos = specs.each(partial(_infos, dtype=dtype))
    return Labelled(infos, specs, prediction.tied)


def _infos(specs: Iterable[TensorSpec], dtype: str | None) -> Iterator[TensorInfo]:
    for spec in specs:
        stored, parameters, elements, nbytes = _sized(
            spec.shape, spec.role, spec.dtype, spec.packed, dtype
        )
        yield TensorInfo(
            spec.name,
            spec.shape,
            stored,
            parameters,
            spec.component,
            spec.layer,
            None,
            None,
            elements,
            nbytes,
            spec.role,
            spec.part,
            spec.stack,
            spec.kind,
            spec.active,
        )


def _sized(
    shape: tuple[int, ...], role: Role, dtype: str | None, packed: Packed | None, usual: str | None
) -> tuple[str | None, int, int, int | None]:
    """Dtype, parameters, elements and bytes of a predicted tensor."""
    elements = prod(shape)
    stored_dtype = dtype or usual
    parameters = 0 if role is not _PARAMETER else elements if packed is None else packed.parameters
    varies = packed is not None and packed.varies
    return stored_dtype, parameters, elements, None if varies else nbytes_of(stored_dtype, elements)


def place_stored(
    table: TensorTable,
    prediction: Prediction | None,
    decoded: Mapping[str, Decoded],
    *,
    vocabulary: Collection[int] = (),
    untied: bool = False,
    routing: Routing | None = None,
) -> Labelled:
    """The tensors of a table's shards, as stored.

    ``decoded`` says of packed tensors and their bookkeeping what they stand for. A tensor that the
    tree knows takes its labels from there, others from their names. Ties are what the tree ties,
    what shares storage, and (unknown models) an output head that has the shape of the input's
    table: as many rows as one of ``vocabulary``, the numbers of tokens of a config that ties them.
    ``untied``: the config says tie_word_embeddings false, so a head that is stored next to the
    embedding is its own, even where a fresh model of the class would tie it (T5 v1.1).
    ``routing`` says how many experts serve a token, for those the tree does not know.
    """
    shards = table.shards
    buffers = {name for shard in shards for name in _module_buffers(shard)}
    labels = _Labels(prediction, routing, buffers, _surroundings(table, decoded))
    infos: list[TensorInfo] = []
    for shard in shards:
        if shard.tensors:
            infos += _labelled(shard, labels, decoded)
    known_specs = labels.known_specs
    tied = {} if untied else _ties_of_tree(infos, known_specs)
    tied.update(_ties_by_storage(shards, tied))
    if prediction is None and vocabulary:
        tied.update(_tied_by_name((i for i in infos if i.name not in tied), vocabulary, table))
    if tied:
        infos = [
            info._replace(tied_to=tied.get(info.name)) if info.name in tied else info
            for info in infos
        ]
    for at, shares in sharing_of(shards, tied).items():
        infos[at] = infos[at]._replace(
            view_of=shares.view_of, shared=(shares.elements, shares.nbytes)
        )
    return Labelled(tuple(infos), known_specs, tied)


#: Two dimensions: what a packed tensor stands for is a matrix, however it is stored.
_MATRIX = (0, 0)


def _surroundings(
    table: TensorTable, decoded: Mapping[str, Decoded]
) -> Iterator[tuple[str, Sequence[int]]]:
    """Names and shapes of what tensors stand for; of a group of several two."""
    for shard in table.shards:
        for stored in shard.tensors:
            meaning = decoded.get(stored.name)
            place = (stored.name, stored.shape) if meaning is None else (meaning.name, _MATRIX)
            yield place
            if not table.is_alone(stored.name):
                yield place


class _Labels:
    """Finds the labels of stored tensors; ``told`` holds what the tree says of each."""

    def __init__(
        self,
        prediction: Prediction | None,
        routing: Routing | None,
        buffers: Set[str],
        surroundings: Iterable[tuple[str, Sequence[int]]],
    ) -> None:
        self.known_specs: list[TensorSpec | None] = []
        self._find = specs_finder(prediction)
        self._routing = routing
        self._buffers = buffers
        self._surroundings = surroundings

    @cached_property
    def _labels_of(self) -> Callable[[str], NameLabels]:
        """Made when the first tensor is met that the tree doesn't know, from all tensors."""
        return labeller(self._surroundings)

    def of(self, tensors: Sequence[StoredTensor], meant: Sequence[str]) -> list[TensorSpec]:
        """Labels of tensors that stand for what is called ``meant``."""
        specs = self._find(meant)
        self.known_specs += specs
        if None not in specs:
            return cast("list[TensorSpec]", specs)
        return [
            spec or self._spec_by_name(stored, name)
            for stored, spec, name in zip(tensors, specs, meant, strict=True)
        ]

    def _spec_by_name(self, stored: StoredTensor, meant: str) -> TensorSpec:
        labels = self._labels_of(meant)
        role = labels.role
        if stored.name in self._buffers or stored.dtype in BUFFER_DTYPES or _is_causal_mask(stored):
            role = Role.BUFFER
        stack, layer = layer_of(stored.name, labels)
        routing = self._routing
        active = routing if routing and is_routed(stored.name, stored, routing) else None
        return TensorSpec(
            meant, stored.shape, labels.component, role, labels.part, stack, layer, active=active
        )


def _labelled(
    shard: Shard, labels: _Labels, decoded: Mapping[str, Decoded]
) -> Iterator[TensorInfo]:
    """A shard's tensors with their labels, column by column: a loop over 500,000 tensors takes
    four times as long."""
    names, dtypes, shapes, elements, sizes, _, _ = zip(*shard.tensors, strict=True)
    meanings = list(map(decoded.get, names))
    meant = names
    if any(meanings):
        meant = tuple([m[0] if m else name for m, name in zip(meanings, names, strict=True)])
    known_specs = labels.of(shard.tensors, meant)
    _, _, components, roles, parts, stacks, layers, kinds, _, _, _, actives, _ = zip(
        *known_specs, strict=True
    )
    parameters: Iterable[int | None] = elements
    if roles.count(_PARAMETER) < len(roles):
        parameters = [
            n if role is _PARAMETER else 0 for n, role in zip(elements, roles, strict=True)
        ]
    if any(meanings):
        roles = tuple([m[1] if m else role for m, role in zip(meanings, roles, strict=True)])
        parameters = [m[2] if m else n for m, n in zip(meanings, parameters, strict=True)]
    columns = zip(
        names,
        shapes,
        dtypes,
        parameters,
        components,
        layers,
        repeat(shard.file),
        repeat(None),
        elements,
        sizes,
        roles,
        parts,
        stacks,
        kinds,
        actives,
        repeat(None),
        repeat(None),
        repeat(None),
    )
    return map(tuple.__new__, repeat(TensorInfo), columns)


def _module_buffers(shard: Shard) -> list[str]:
    """What a pickled module itself calls its buffers."""
    names = shard.metadata.get("buffers") if shard.format in ("torch", "torchscript") else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _is_causal_mask(stored: StoredTensor) -> bool:
    """``attn.bias`` of GPT-2's kind: (1, 1, n, n), or (n, n) of booleans or bytes."""
    shape = stored.shape
    if not stored.name.endswith(".bias") or len(shape) < 2 or shape[-1] != shape[-2]:
        return False
    return (len(shape) == 4 and shape[:2] == (1, 1)) or stored.dtype in ("BOOL", "U8")


# ---- ties


def _ties_of_tree(
    infos: Sequence[TensorInfo], known_specs: Sequence[TensorSpec | None]
) -> dict[str, str]:
    """Both ends of a tie of the architecture are stored, in one shape."""
    if not any(spec is not None and spec[_TIED_TO] is not None for spec in known_specs):
        return {}
    specs = _by_name(infos, known_specs)
    ends = {name: spec.tied_to for name, spec in specs.items() if spec.tied_to is not None}
    targets = set(ends.values())
    stored_by = {
        specs[i.name].name: i for i in infos if i.name in specs and specs[i.name].name in targets
    }
    tied: dict[str, str] = {}
    for info in infos:
        stored = stored_by.get(ends.get(info.name) or "")
        if stored is not None and stored.name != info.name and stored.shape == info.shape:
            tied[info.name] = stored.name
    return tied


def _ties_by_storage(shards: Sequence[Shard], known: Mapping[str, str]) -> dict[str, str]:
    """Tensors of one file that are the same bytes."""
    first: dict[tuple[str, Extent], str] = {}
    tied: dict[str, str] = {}
    for shard in shards:
        for stored in shard.tensors:
            if stored.storage is None or stored.name in known:
                continue
            first_name = first.setdefault((shard.file, stored.storage), stored.name)
            if first_name != stored.name:
                tied[stored.name] = known.get(first_name, first_name)
    return tied


def _tied_by_name(
    infos: Iterable[TensorInfo], vocabulary: Collection[int], table: TensorTable
) -> dict[str, str]:
    """An unknown architecture with tie_word_embeddings true that stores both ends.

    Only what turns the last layer into tokens is tied: one row a token. Where several heads or
    several tables have that shape (one for each task, one for each language), nothing says which.
    """
    matrices = [
        info
        for info in infos
        if len(info.shape) == 2 and info.shape[0] in vocabulary and info.role is Role.PARAMETER
    ]
    embeddings = [i for i in matrices if i.component is Component.EMBEDDING]
    heads = [i for i in matrices if i.component is Component.HEAD]
    if len(embeddings) != 1 or len(heads) != 1:
        return {}
    (embedding,) = embeddings
    (head,) = heads
    if not (table.is_alone(embedding.name) and table.is_alone(head.name)):
        return {}
    same = embedding.shape == head.shape and embedding.dtype == head.dtype
    return {head.name: embedding.name} if same else {}
