"""Files of torch.save before PyTorch 1.6: five pickles in a row, then the storages.

Magic number, protocol version, system info, the object, the list of storage keys; then for each
key the number of elements (int64) and the elements (torch/serialization.py, ``_legacy_save``).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...core.checkpoint import Shard
from ...errors import FormatError, LimitError, UnsupportedFormatError
from ..finding_list import FindingList
from ..pickles.globals import PickleScan, scan_pickle
from ..pickles.machine import PickleMachine
from ..pickles.nodes import PickleGlobal
from ..sniff import magic_of
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
#: Read at first behind an array that was passed over.
FIRST_STEP = 16 * 1024
#: The element count in front of each storage.
COUNT_BYTES = 8
#: A legacy file's pickles. What follows them are storages.
LEGACY_PICKLES = 5
#: Pickles of one file that are looked through for names; logs may be thousands in a row.
MAX_PICKLES = 1_000

_LIBRARIES = {
    "sklearn": "scikit-learn",
    "joblib": "joblib",
    "numpy": "NumPy",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "pandas": "pandas",
    "scipy": "SciPy",
    "spacy": "spaCy",
    "gensim": "gensim",
    "tensorflow": "TensorFlow",
    "keras": "Keras",
    "jax": "JAX",
    "flax": "Flax",
    "torch": "PyTorch",
}


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
                self._file.path,
                f"its pickle continues past {have:,} bytes",
                expected=f"at most {MAX_PICKLE_BYTES:,}",
            )
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
    findings, metadata = describe_content(content.root, file.path, out)
    metadata["globals"] = list_globals(content.globals, out)
    metadata["legacy"] = True
    if isinstance(content.sys_info, dict):
        little = content.sys_info.get("little_endian")
        metadata["byteorder"] = "big" if little is False else "little"
    places = _place_storages(content, file.known_size(), out)
    check_views(findings, content.table.storages, out)
    tensors = stored_tensors(findings, lambda storage: places.get(storage.key))
    return Shard(file.path, "torch", tensors, file.size, content.stop, metadata, out.listed())


def _read_pickles(file: Windows, head: bytes) -> _Content:
    source = _Growing(file, head)
    machine, magic = _first_pickle(source, file.path)
    if magic != MAGIC_NUMBER or type(magic) is not int:
        raise _other_pickle(file.path, machine.globals)
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
        problem = "a PyTorch file of an unknown protocol"
        raise UnsupportedFormatError(file.path, problem, expected=str(PROTOCOL_VERSION))
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
    except FormatError:
        if not machine.globals:  # a magic number loads nothing
            raise
        return machine, None


#: What to do with a pickle of other objects than a checkpoint, and the mark of that refusal.
PLAIN_PICKLE_HINT = "a pickle can run any code; an audit names what it loads"


def is_plain_pickle(error: Exception) -> bool:
    """Whether a file was refused as the pickle that its name predicts, of other objects."""
    return isinstance(error, UnsupportedFormatError) and error.hint == PLAIN_PICKLE_HINT


def old_pickle(file: Windows, head: bytes) -> UnsupportedFormatError | None:
    """What a file without any magic is, if it is a pickle of protocol 0 or 1."""
    scans = scan_pickles(file, head)
    return _other_pickle(file.path, scans[0][1].globals) if scans else None


def _other_pickle(path: str, names: Sequence[PickleGlobal]) -> UnsupportedFormatError:
    """Names the library whose objects a pickle holds, by the first module that is known."""
    roots = [name.module.split(".", 1)[0] for name in names]
    library = next((_LIBRARIES[root] for root in roots if root in _LIBRARIES), None)
    what = f"a pickle of {library} objects" if library else "a Python pickle"
    if names:
        what += f" ({names[0].dotted!a:.120})"
    return UnsupportedFormatError(path, f"{what}, no PyTorch checkpoint", hint=PLAIN_PICKLE_HINT)


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


class _LegacyRead:
    """Reads on in a file as far as its pickles go, up to a limit of bytes in all."""

    def __init__(self, file: Windows, head: bytes) -> None:
        self._file = file
        self._head = head
        self._left = MAX_PICKLE_BYTES

    def more(self, offset: int, have: int) -> bytes:
        if not have and offset < len(self._head):
            return self._head[offset:]
        length = max(have * GROWTH, FIRST_STEP)
        self._left -= length - have
        if self._left < 0:
            raise LimitError(
                self._file.path,
                f"its pickles take more than {MAX_PICKLE_BYTES:,} bytes",
                expected=f"at most {MAX_PICKLE_BYTES:,}, raw arrays apart",
            )
        return self._file.read(offset, offset + length)


def scan_pickles(file: Windows, head: bytes) -> list[tuple[str, PickleScan]]:
    """Names in the pickles at the beginning of any file, numbered from 1.

    Reads on only while a pickle goes on, and past raw arrays. Empty where every unpickler stops
    before it imports anything; what follows the last pickle is none in the same sense.
    """
    reading = _LegacyRead(file, head)
    scans: list[tuple[str, PickleScan]] = []
    data = head
    base = 0
    start = 0
    is_legacy = False
    for number in range(1, MAX_PICKLES + 2):
        if number > MAX_PICKLES:
            problem = (
                f"more than {MAX_PICKLES:,} pickles follow each other: the rest is not checked"
            )
            error = LimitError(file.path, problem, expected=f"at most {MAX_PICKLES:,}")
            scans.append((f"pickle {number}", PickleScan((), error, start)))
            break
        scan = scan_pickle(
            data, subject=file.path, start=start - base, base=base, more=reading.more
        )
        expected = is_legacy or (number == 1 and magic_of(head) == "pickle")
        if scan.is_no_pickle and not expected:
            break
        scans.append((f"pickle {number}", scan))
        is_legacy |= number == 1 and scan.value == MAGIC_NUMBER
        start = scan.stop
        if scan.error is not None or (is_legacy and number == LEGACY_PICKLES):
            break
        if start >= base + len(data):
            base = start
            data = reading.more(start, 0)
        if start >= base + len(data):
            break
    return scans
