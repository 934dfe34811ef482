"""Files of torch.save before PyTorch 1.6: five pickles in a row, then the storages.

Magic number, protocol version, system info, the object, the list of storage keys; then for each
key the number of elements (int64) and the elements (torch/serialization.py, ``_legacy_save``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...core.checkpoint import Shard
from ...errors import FormatError, LimitError, UnsupportedFormatError
from ..bounded import FindingList
from ..pickles.machine import PickleMachine, PickleScan, scan_pickle
from ..pickles.nodes import PickleGlobal
from ..window import Windows
from .rebuild import StorageTable
from .storages import Storage
from .views import check_views, describe_content, list_globals, stored_tensors

#: torch.serialization.MAGIC_NUMBER and PROTOCOL_VERSION.
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
#: As for zip archives; the pickles of a file with 10,000 tensors take about 2 MB.
MAX_PICKLE_BYTES = 64 * 1024 * 1024
#: The window grows so much each time the pickle turns out to be longer, so at most three
#: quarters of what is read lies beyond it.
GROWTH = 4
#: The element count in front of each storage.
COUNT_BYTES = 8
#: Pickles of one file that are looked through for names; legacy files have five.
MAX_PICKLES = 16

_LIBRARIES = {
    "sklearn": "scikit-learn", "joblib": "joblib", "numpy": "NumPy", "xgboost": "XGBoost",
    "lightgbm": "LightGBM", "catboost": "CatBoost", "pandas": "pandas", "scipy": "SciPy",
    "spacy": "spaCy", "gensim": "gensim", "tensorflow": "TensorFlow", "keras": "Keras",
    "jax": "JAX", "flax": "Flax", "torch": "PyTorch",
}  # fmt: skip


class _Growing:
    """The file from its beginning, as far as it was needed so far."""

    def __init__(self, file: Windows, head: bytes) -> None:
        self._file = file
        self.data = head

    def run(self, build: Callable[[bytes], PickleMachine]) -> tuple[PickleMachine, object]:
        """Run one pickle, with more of the file each time it turns out to be longer."""
        while True:
            machine = build(self.data)
            try:
                return machine, machine.run()
            except FormatError as error:
                if error.rule != "pickle-truncated" or not self.grow():
                    raise

    def grow(self) -> bool:
        """Read on; False at the end of the file."""
        have = len(self.data)
        if have >= MAX_PICKLE_BYTES:
            raise LimitError(
                self._file.path, f"its pickle goes on past {have:,} bytes",
                expected=f"at most {MAX_PICKLE_BYTES:,}",
            )  # fmt: skip
        self.data = self._file.read(0, min(have * GROWTH, MAX_PICKLE_BYTES))
        return len(self.data) > have


class _Content(NamedTuple):
    root: object
    table: StorageTable
    globals: list[PickleGlobal]
    keys: list[str]
    sys_info: object
    stop: int  # end of the pickles, where the storages begin


def read_legacy(file: Windows, head: bytes) -> Shard:
    """The shard of a legacy file; UnsupportedFormatError for any other pickle."""
    content = _read_pickles(file, head)
    out = FindingList(file.path)
    found, metadata = describe_content(content.root, file.path, out)
    metadata["globals"] = list_globals(content.globals, out)
    metadata["legacy"] = True
    if isinstance(content.sys_info, dict):
        little = content.sys_info.get("little_endian")
        metadata["byteorder"] = "big" if little is False else "little"
    places = _place_storages(content, file.known_size(), out)
    check_views(found, content.table.storages, out)
    tensors = stored_tensors(found, lambda storage: places.get(storage.key))
    return Shard(file.path, "torch", tensors, file.size, content.stop, metadata, out.done())


def _read_pickles(file: Windows, head: bytes) -> _Content:
    source = _Growing(file, head)
    machine, magic = _first_pickle(source, file.path)
    if magic != MAGIC_NUMBER or type(magic) is not int:
        raise _other_pickle(file.path, machine)
    values: list[object] = []
    names = list(machine.globals)
    table = StorageTable()
    for _ in range(4):
        start = machine.position
        machine, value = source.run(lambda data: _machine(data, file.path, start, table))  # noqa: B023
        values.append(value)
        names.extend(machine.globals)
    protocol, sys_info, root, keys = values
    if protocol != PROTOCOL_VERSION or type(protocol) is not int:
        found = "a PyTorch file of an unknown protocol"
        raise UnsupportedFormatError(file.path, found, expected=str(PROTOCOL_VERSION))
    if not isinstance(keys, list):
        raise FormatError(file.path, "no list of storage keys follows", rule="storage-keys")
    texts = [key if isinstance(key, str) else str(key) if type(key) is int else "" for key in keys]
    return _Content(root, table, names, texts, sys_info, machine.position)


def _machine(data: bytes, path: str, start: int, table: StorageTable) -> PickleMachine:
    return PickleMachine(
        data, subject=path, start=start, builders=table.builders(), persistent=table.persistent
    )


def _first_pickle(source: _Growing, path: str) -> tuple[PickleMachine, object]:
    """The first pickle if it is short, as the magic number's is; else what was seen of it."""
    machine = PickleMachine(source.data, subject=path)
    try:
        return machine, machine.run()
    except FormatError as error:
        if error.rule != "pickle-truncated" or not machine.globals:
            raise
        return machine, None


def _other_pickle(path: str, machine: PickleMachine) -> UnsupportedFormatError:
    """Names the library whose objects a pickle holds, by the first module that is known."""
    roots = [name.module.split(".", 1)[0] for name in machine.globals]
    library = next((_LIBRARIES[root] for root in roots if root in _LIBRARIES), None)
    what = f"a pickle of {library} objects" if library else "a Python pickle"
    if machine.globals:
        what += f" ({machine.globals[0].dotted!a:.120})"
    return UnsupportedFormatError(
        path, f"{what}, no PyTorch checkpoint", hint="it is not loaded: a pickle can run any code"
    )


def _place_storages(content: _Content, size: int, out: FindingList) -> dict[str, int]:
    """Where each storage's bytes begin: in the order of the keys, each after its count."""
    places: dict[str, int] = {}
    at = content.stop
    for key in content.keys:
        storage: Storage | None = content.table.storages.get(key)
        if storage is None:
            out.add("storage-unused", f"storage {key!a:.100} belongs to no tensor")
            return places
        if key in places:
            out.add("zip-duplicate", f"storage {key!a:.100} is listed twice")
            return places
        at += COUNT_BYTES
        places[key] = at
        at += storage.nbytes
    missing = [key for key in content.table.storages if key not in places]
    if missing:
        out.add("storage-missing", f"the file has no storage {missing[0]!a:.100}")
    if at > size:
        out.add("truncated", f"has {size:,} bytes, expected {at:,}")
    elif at < size:
        out.add("trailing", f"{size - at:,} bytes follow the last storage", None, "warning")
    return places


def scan_pickles(file: Windows, head: bytes) -> list[tuple[str, PickleScan]]:
    """Names in the pickles at the beginning of any file, numbered from 1.

    Reads on only while a pickle goes on; what follows the last one that parses is not looked at,
    except the first, whose names count even if it is damaged.
    """
    source = _Growing(file, head)
    scans: list[tuple[str, PickleScan]] = []
    start = 0
    for number in range(1, MAX_PICKLES + 1):
        scan = scan_pickle(source.data, subject=file.path, start=start)
        while isinstance(scan.error, FormatError) and scan.error.rule == "pickle-truncated":
            if not source.grow():
                break
            scan = scan_pickle(source.data, subject=file.path, start=start)
        if scan.error is not None and number > 1 and not scan.globals:
            break
        scans.append((f"pickle {number}", scan))
        if scan.error is not None or scan.stop >= len(source.data):
            break
        start = scan.stop
    return scans
