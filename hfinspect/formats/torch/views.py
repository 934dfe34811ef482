"""From what a PyTorch pickle describes to a shard: tensors, ties, and what does not fit."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from ...core.extents import Extent
from ...core.tensor import StoredTensor
from ..finding_list import FindingList
from ..pickles.nodes import PickleGlobal
from .rebuild import is_known
from .state_dict import StateDictFinding, StateDictPart, Walker, training_keys
from .storages import Storage

#: Names kept in a shard's metadata of each list; the rest is counted.
MAX_LISTED = 1_000

#: Where a storage's bytes begin in the file, None where that is not known.
Locate = Callable[[Storage], "int | None"]


def stored_tensors(
    findings: Iterable[StateDictFinding], locate: Locate
) -> tuple[StoredTensor, ...]:
    """The tensors as every format reports them; equal ``storage`` means the same bytes."""
    tensors = []
    for item in findings:
        view = item.view
        begin = locate(view.storage) if view.storage else None
        tensors.append(
            StoredTensor(
                item.name,
                view.dtype.name,
                view.shape,
                view.elements,
                view.nbytes,
                None if begin is None else begin + view.span[0],
                view.extent,
            )
        )
    return tuple(tensors)


def check_views(
    findings: Sequence[StateDictFinding], storages: Mapping[str, Storage], out: FindingList
) -> None:
    """Findings about tensors against their storages.

    Rules: out-of-storage, shared-storage, expanded-view, no-data, storage-larger, unknown-dtype,
    and compound-tensor for tensors that are stored in pieces.
    """
    by_storage: dict[str, list[StateDictFinding]] = {}
    for item in findings:
        view = item.view
        if item.kind:
            text = f"is a piece of a {item.kind} tensor"
            out.add("compound-tensor", text, item.name, "note")
        if view.storage is None:
            out.add("no-data", "has a shape but no data (device meta)", item.name, "warning")
            continue
        storage = storages.get(view.storage.key, view.storage)
        if not view.elements:
            continue  # an empty slice may begin beyond its storage
        if view.span[1] > storage.nbytes or view.span[1] > view.storage.base + view.storage.nbytes:
            text = f"reaches byte {view.span[1]:,} of a storage of {storage.nbytes:,}"
            out.add("out-of-storage", text, item.name)
        if not view.dtype.known:
            text = f"the dtype {view.dtype.name!a:.80} is not known: elements as its shape says"
            out.add("unknown-dtype", text, item.name, "warning")
        if view.packed_bytes is None and view.nbytes < view.elements * view.dtype.item_bytes:
            text = f"repeats {view.nbytes:,} stored bytes to {view.elements:,} elements"
            out.add("expanded-view", text, item.name, "note")
        by_storage.setdefault(view.storage.key, []).append(item)
    for key, items in by_storage.items():
        _check_shared(items, storages.get(key), out)


def _check_shared(items: list[StateDictFinding], storage: Storage | None, out: FindingList) -> None:
    distinct = {item.view.extent: item for item in reversed(items) if item.view.elements}
    ordered = sorted(distinct.values(), key=lambda item: item.view.span)
    reach = 0
    last: StateDictFinding | None = None
    used = 0
    for item in ordered:
        start, stop = item.view.span
        used += max(0, stop - max(start, reach))
        if last is not None and start < reach:
            text = f"shares some, not all, of its bytes or rows with {last.name!a:.200}"
            out.add("shared-storage", text, item.name, "warning")
        if stop > reach:
            reach = stop
            last = item
    if storage is not None and ordered and used < storage.nbytes:
        text = f"is a view of {used:,} bytes; the file holds all {storage.nbytes:,} of its storage"
        out.add("storage-larger", text, ordered[0].name, "note")


def list_globals(names: Iterable[PickleGlobal], out: FindingList) -> list[str]:
    """A finding for each name that does not describe tensors; returns all names, each once."""
    by_name: dict[str, PickleGlobal] = {}
    for name in names:
        by_name.setdefault(name.dotted, name)
    for name in by_name.values():
        if not is_known(name.module, name.name):
            text = f"the pickle names {name.dotted!a:.300} (pickle byte {name.position:,}): "
            text += "an audit says whether that is known to be harmless"
            out.add("pickle-global", text, None, "warning")
    return sorted(by_name)[:MAX_LISTED]


def describe_content(
    root: object, subject: str, out: FindingList
) -> tuple[list[StateDictFinding], dict[str, object]]:
    """The tensors of the model part, and metadata that says what else the file holds.

    Keys: ``kind``; ``state_dict``, the path of the model part ("" for the whole file);
    ``training_keys``, what says that it is a checkpoint of a training script; ``other_keys``;
    ``other_parts`` by path with tensors, elements and bytes; ``buffers``, names
    that a pickled module calls so; ``parameters``, the number of tensors stored as Parameters.
    """
    walker = Walker(subject)
    model, others = walker.split(root)
    findings = list(walker.find_tensors(model.value))
    kind = "state_dict" if findings and isinstance(model.value, dict) else model.kind
    metadata: dict[str, object] = {
        "kind": model.kind if model.kind == "optimizer" else kind,
        "state_dict": model.path,
    }
    if keys := training_keys(root):
        metadata["training_keys"] = keys
    if others:
        metadata["other_keys"] = [_short(part.path) for part in others[:MAX_LISTED]]
        parts = {_short(part.path): _sizes(part, walker) for part in others[:MAX_LISTED]}
        metadata["other_parts"] = {path: sizes for path, sizes in parts.items() if sizes}
        if metadata["other_parts"]:
            total = sum(sizes["bytes"] for sizes in parts.values() if sizes)
            text = f"holds {total:,} bytes of tensors next to the model ({model.path!a:.200})"
            out.add("training-state", text, None, "note")
    if buffers := [item.name for item in findings if item.buffer]:
        metadata["buffers"] = buffers[:MAX_LISTED]
    if parameters := sum(item.view.parameter for item in findings):
        metadata["parameters"] = parameters
    for name, count in Counter(item.name for item in findings).items():
        if count > 1:
            out.add("duplicate-name", f"is there {count} times", name)
    if not findings:
        out.add("no-tensors", "holds no tensors", None, "warning")
    elif model.kind == "optimizer":
        out.add("optimizer-state", "holds an optimizer's state, no model", None, "warning")
    return findings, metadata


def _short(path: str) -> str:
    return path if len(path) <= 200 else path[:200] + "..."


def _sizes(part: StateDictPart, walker: Walker) -> dict[str, int]:
    """Tensors, elements and bytes of a part, each storage span once; empty without tensors."""
    seen: set[Extent | None] = set()
    tensors = elements = nbytes = 0
    for item in walker.find_tensors(part.value):
        tensors += 1
        identity = item.view.extent
        if identity not in seen or identity is None:
            seen.add(identity)
            elements += item.view.elements
            nbytes += item.view.nbytes if item.view.storage else 0
    return {"tensors": tensors, "elements": elements, "bytes": nbytes} if tensors else {}
