"""Where each tensor belongs: labels from the architecture's tree, or from the name alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..architectures.prediction import Prediction
from ..core.checkpoint import Shard
from ..core.components import Component, Role
from ..core.tensors import StoredTensor, TensorInfo, TensorSpec, nbytes_of
from .experts import Routing, is_routed
from .lookup import spec_finder as spec_finder
from .names import labels_of, layer_of
from .quantization import Decoded

#: A member of an Enum costs a call to look up.
_PARAMETER = Role.PARAMETER


class Placed(NamedTuple):
    """Labelled tensors, which of them the tree knew, and ties: name -> name kept."""

    tensors: tuple[TensorInfo, ...]
    specs: Mapping[str, TensorSpec]
    tied: Mapping[str, str]


def place_expected(prediction: Prediction) -> Placed:
    """Tensors as predicted, in the config's dtype; a buffer's own dtype where it has one."""
    infos = []
    for spec in prediction.tensors:
        dtype = spec.dtype or prediction.dtype
        elements = spec.elements
        infos.append(
            TensorInfo(
                spec.name, spec.shape, dtype, spec.parameters, spec.component, spec.layer, None,
                None, elements, nbytes_of(dtype, elements), spec.role, spec.part, spec.stack,
                spec.kind, spec.active,
            )
        )  # fmt: skip
    return Placed(tuple(infos), {spec.name: spec for spec in prediction.tensors}, prediction.tied)


def place_stored(
    shards: Sequence[Shard],
    prediction: Prediction | None,
    decoded: Mapping[str, Decoded],
    *,
    tie_embeddings: bool = False,
    untied: bool = False,
    routing: Routing | None = None,
) -> Placed:
    """Tensors as stored.

    ``decoded`` says of packed tensors and their bookkeeping what they stand for. A tensor that the
    tree knows takes its labels from there, others from their names. Ties are what the tree ties,
    what shares storage, and (unknown models, ``tie_embeddings``) an lm_head of the embedding's
    shape. ``untied``: the config says tie_word_embeddings false, so a head that is stored beside
    the embedding is its own, even where a fresh model of the class would tie it (T5 v1.1).
    ``routing`` tells how many experts serve a token, for those the tree does not know.
    """
    buffers = {name for shard in shards for name in _told_buffers(shard)}
    find, meaning_of = spec_finder(prediction), decoded.get
    infos: list[TensorInfo] = []
    specs: dict[str, TensorSpec] = {}
    for shard in shards:
        file = shard.file
        for stored in shard.tensors:
            name = stored[0]
            meaning = meaning_of(name)
            spec = find(meaning[0] if meaning else name)
            if spec is not None:
                specs[name] = spec
                infos.append(_known(stored, file, spec, meaning))
                continue
            info = _unknown(stored, file, meaning)
            if name in buffers:
                info = info._replace(role=Role.BUFFER, parameters=0)
            if routing is not None and is_routed(name, stored, routing):
                info = info._replace(active=routing)
            infos.append(info)
    tied = {} if untied else _ties_of_tree(infos, specs)
    tied.update(_ties_by_storage(shards, tied))
    if prediction is None and tie_embeddings:
        tied.update(_tied_by_name(infos))
    if tied:
        infos = [info._replace(tied_to=tied.get(info.name)) if info.name in tied else info
                 for info in infos]  # fmt: skip
    return Placed(tuple(infos), specs, tied)


def _known(
    stored: StoredTensor, file: str, spec: TensorSpec, meaning: Decoded | None
) -> TensorInfo:
    """A tensor with the labels of the tree. Unpacked in one go, as most of 500,000 come here."""
    name, dtype, shape, elements, nbytes, _, _ = stored
    _, _, component, role, part, stack, layer, kind, _, _, _, active = spec
    parameters: int | None = elements if role is _PARAMETER else 0
    if meaning is not None:
        _, role, parameters, _, _ = meaning
    return TensorInfo(
        name, shape, dtype, parameters, component, layer, file, None,
        elements, nbytes, role, part, stack, kind, active,
    )  # fmt: skip


def _unknown(stored: StoredTensor, file: str, meaning: Decoded | None) -> TensorInfo:
    """A tensor with the labels that its name tells."""
    labels = labels_of(meaning.name if meaning else stored.name)
    role = labels.role
    if role is Role.PARAMETER and _is_causal_mask(stored):
        role = Role.BUFFER
    parameters: int | None = stored.elements if role is Role.PARAMETER else 0
    if meaning is not None:
        role, parameters = meaning.role, meaning.parameters
    stack, layer = layer_of(stored.name, labels)
    return TensorInfo(
        stored.name, stored.shape, stored.dtype, parameters, labels.component, layer, file, None,
        stored.elements, stored.nbytes, role, labels.part, stack,
    )  # fmt: skip


def _told_buffers(shard: Shard) -> list[str]:
    """What a pickled module itself calls its buffers."""
    told = shard.metadata.get("buffers") if shard.format in ("torch", "torchscript") else None
    return [name for name in told if isinstance(name, str)] if isinstance(told, list) else []


def _is_causal_mask(stored: StoredTensor) -> bool:
    """``attn.bias`` of GPT-2's kind: (1, 1, n, n), or (n, n) of booleans or bytes."""
    shape = stored.shape
    if not stored.name.endswith(".bias") or len(shape) < 2 or shape[-1] != shape[-2]:
        return False
    return (len(shape) == 4 and shape[:2] == (1, 1)) or stored.dtype in ("BOOL", "U8")


# ---- ties


def _ties_of_tree(infos: Sequence[TensorInfo], specs: Mapping[str, TensorSpec]) -> dict[str, str]:
    """Both ends of a tie of the architecture are stored, in one shape."""
    ends = {name: spec.tied_to for name, spec in specs.items() if spec.tied_to is not None}
    if not ends:
        return {}
    wanted = set(ends.values())
    kept_by = {
        specs[i.name].name: i for i in infos if i.name in specs and specs[i.name].name in wanted
    }
    tied: dict[str, str] = {}
    for info in infos:
        kept = kept_by.get(ends.get(info.name) or "")
        if kept is not None and kept.name != info.name and kept.shape == info.shape:
            tied[info.name] = kept.name
    return tied


def _ties_by_storage(shards: Sequence[Shard], known: Mapping[str, str]) -> dict[str, str]:
    """Tensors of one file that are the same bytes."""
    first: dict[tuple[str, str], str] = {}
    tied: dict[str, str] = {}
    for shard in shards:
        for stored in shard.tensors:
            if stored.storage is None or stored.name in known:
                continue
            kept = first.setdefault((shard.file, stored.storage), stored.name)
            if kept != stored.name:
                tied[stored.name] = known.get(kept, kept)
    return tied


def _tied_by_name(infos: Sequence[TensorInfo]) -> dict[str, str]:
    """An untold architecture with tie_word_embeddings true that stores both ends."""
    matrices = [i for i in infos if len(i.shape) == 2 and i.role is Role.PARAMETER]
    tables = [i for i in matrices if i.component is Component.EMBEDDING]
    heads = [i for i in matrices if i.component is Component.HEAD]
    tied = {}
    for head in heads:
        same = [t for t in tables if t.shape == head.shape and t.dtype == head.dtype]
        if len(same) == 1:
            tied[head.name] = same[0].name
    return tied
