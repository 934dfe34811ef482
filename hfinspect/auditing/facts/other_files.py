"""Looks at files that are no weights: pickles of any kind, pointers, Keras archives."""

from collections.abc import Iterable, Sequence

from ...checkpoints.file_bytes import SourceReader
from ...errors import FormatError, LimitError
from ...formats.base import SpanReader
from ...formats.hdf5 import MAGIC
from ...formats.jinja.template_blocks import MAX_TEMPLATE_CHARS
from ...formats.pickles.globals import PickleScan, reads_as_pickle, scan_pickle
from ...formats.sniff import SNIFF_BYTES, magic_of, sniff
from ...formats.torch.torch import scan_behind, scan_file
from ...formats.torch.unpacking import UNPACKED, UNREAD, UnreadPartError
from ...formats.window import Windows
from ...sources.source import FileEntry, Source
from .graphs import (
    MAX_GRAPH_BYTES,
    MAX_KERAS_CONFIG,
    hdf5_gadgets,
    keras_gadgets,
    keras_text_gadgets,
    onnx_gadgets,
    saved_model_gadgets,
    saved_model_text_gadgets,
)
from .target import Gadget

Scans = tuple[tuple[str, PickleScan], ...]

#: Endings of files that usually are pickles or archives with pickles.
PICKLE_SUFFIXES = tuple(
    """.bin .pt .pth .ckpt .th .jit .pkl .pickle .pck .pcl .p .joblib .dill .pt2 .mar .nemo .npy
    .npz .sav""".split()
)

#: Kinds of ``formats.sniff.magic_of`` that some loader unpickles or unpacks.
UNPICKLED = ("pickle", "zip", "tar", "numpy", "zfile", *sorted(UNPACKED), *sorted(UNREAD))

#: Files of a directory whose first bytes are looked at; a model has some dozens.
MAX_SNIFFED = 10_000
#: The same on the Hub, where each costs one or two requests.
MAX_REMOTE_SNIFFED = 64
#: Requests for one file that is looked through on the Hub; an archive has many members.
MAX_REMOTE_READS = 64
#: Requests for one graph of another library.
MAX_REMOTE_GRAPH_READS = 8
#: The same of a deep audit.
MAX_DEEP_READS = 10_000
#: Graphs of a repo on the Hub that are looked at; conversions come in some dozens of them.
MAX_REMOTE_GRAPHS = 64
#: A pickle of protocol 0 can begin with text of any length; so much of it is read to be sure.
MAX_TEXT_BYTES = 16 * 1024 * 1024
#: The same on the Hub.
MAX_REMOTE_TEXT_BYTES = 256 * 1024

#: Kept as text on the Hub (files in LFS are looked at under any name).
TEXT_ENDINGS = frozenset(
    """.json .jsonl .md .txt .py .ipynb .yaml .yml .toml .cfg .ini .csv .tsv .html .css .js .sh .xml
    .svg .jinja .gitattributes .gitignore .gitkeep .lock .safetensors .gguf .rst .vocab""".split()
)
#: Looked at last.
MEDIA_ENDINGS = frozenset(
    """.png .jpg .jpeg .gif .webp .svg .mp3 .wav .flac .ogg .mp4 .webm .pdf .ttf .onnx .onnx_data
    .h5 .tflite .msgpack .parquet .arrow""".split()
)


def scan_pickle_file(source: Source, path: str) -> Scans:
    """Names in a file's pickles; empty where it holds none. Raises HfinspectErrors."""
    return tuple(scan_file(Windows(_reader(source, path))))


def scan_unnamed(source: Source, path: str) -> Scans:
    """The same of a file that by its name is no pickle: first its first bytes are looked at.

    Loaders go by the bytes: joblib, torch and NumPy load a file whatever it is called.
    """
    file = Windows(_reader(source, path))
    head = file.read(0, SNIFF_BYTES)
    if sniff(head, file.size) is not None:
        return ()
    kind = magic_of(head)
    if kind is None:
        limit = MAX_TEXT_BYTES if source.is_near else MAX_REMOTE_TEXT_BYTES
        verdict = _is_bare_pickle(file, head, limit)
        if verdict is None:
            problem = f"its first {limit:,} bytes may be the beginning of a pickle: not checked"
            return (("file", PickleScan((), UnreadPartError(path, problem), limit)),)
        if not verdict:
            return tuple(scan_behind(file))
    if kind not in (None, *UNPICKLED):
        return tuple(scan_behind(file))
    scans = tuple(scan_file(file))
    return () if all(scan.is_no_pickle for _, scan in scans) else scans


#: Opcodes of numbers in text.
_NUMBERS = (b"I", b"F", b"L", b"p", b"g")


def _is_bare_pickle(file: Windows, head: bytes, limit: int) -> bool | None:
    """Whether bytes without a magic number are a pickle; more of them are read, up to ``limit``,
    while that is not decided yet. None where it never is."""
    while True:
        scan = scan_pickle(head)
        cut = isinstance(scan.error, FormatError) and scan.error.rule == "pickle-truncated"
        if isinstance(scan.error, LimitError) and head[scan.stop - 1 : scan.stop] in _NUMBERS:
            return True  # of hundreds of digits, which is not followed
        if reads_as_pickle(head) or not cut or len(head) >= file.known_size():
            return reads_as_pickle(head)
        if len(head) >= limit:
            return None
        head = file.read(0, min(len(head) * 8, limit))


class _Sparing:
    """A reader that stops after so many reads: each is a request to the Hub."""

    def __init__(self, reader: SourceReader, limit: int) -> None:
        self.path = reader.path
        self._reader = reader
        self._limit = self._left = limit

    @property
    def size(self) -> int | None:
        return self._reader.size

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            problem = f"looking through it takes more than {self._limit} requests"
            raise UnreadPartError(self.path, f"{problem}: the rest is not checked")

    def read(self, start: int, stop: int) -> bytes:
        self._count()
        return self._reader.read(start, stop)

    def read_spans(self, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        self._count()
        return self._reader.read_spans(spans)


def _reader(source: Source, path: str, limit: int = MAX_REMOTE_READS) -> SpanReader:
    reader = SourceReader(source, path)
    return reader if source.is_near else _Sparing(reader, limit)


def to_sniff(files: Iterable[FileEntry], *, local: bool) -> tuple[list[str], int]:
    """Paths whose first bytes are looked at, and how many others are not.

    On disk all of them are. On the Hub each costs requests: text that is kept as text is left out,
    and of the rest a few are taken, files of unknown endings first.
    """
    if local:
        paths = [entry.path for entry in files]
        return paths[:MAX_SNIFFED], max(0, len(paths) - MAX_SNIFFED)
    unnamed = [
        entry
        for entry in files
        if (entry.size is None or entry.size > 1)
        and (entry.sha256 is not None or _ending(entry.path) not in TEXT_ENDINGS)
    ]
    unnamed.sort(key=lambda entry: _ending(entry.path) in MEDIA_ENDINGS)
    paths = [entry.path for entry in unnamed]
    return paths[:MAX_REMOTE_SNIFFED], max(0, len(paths) - MAX_REMOTE_SNIFFED)


def _ending(path: str) -> str:
    name = path.rpartition("/")[2].lower()
    return name[name.rfind(".") :] if "." in name else ""


def stand_in(source: Source, path: str) -> str | None:
    """What lies in place of a small file: a pointer, by its rule's name, or None."""
    rule = sniff(source.read(path, 0, SNIFF_BYTES), None)
    return rule if rule in ("lfs-pointer", "xet-pointer") else None


def graph_gadgets(source: Source, path: str, reads: int) -> list[Gadget]:
    """What a file of another library makes its loader do, with at most so many ``reads`` on the
    Hub. Raises HfinspectErrors."""
    reader = _reader(source, path, reads)
    name = path.rpartition("/")[2].lower()
    if name == "saved_model.cpb":
        raise UnreadPartError(path, "a SavedModel in pieces, which hfinspect does not read")
    if name.endswith(".keras"):
        return keras_gadgets(Windows(reader))
    if not name.endswith((".onnx", ".pb", ".pbtxt")):
        return hdf5_gadgets(Windows(reader))
    size = source.size(path)
    if name == "keras_metadata.pb":
        return keras_text_gadgets(path, reader.read(0, min(size, MAX_KERAS_CONFIG)))
    if name == "saved_model.pbtxt":
        return saved_model_text_gadgets(path, reader.read(0, min(size, MAX_GRAPH_BYTES)))
    return (onnx_gadgets if name.endswith(".onnx") else saved_model_gadgets)(reader, size)


def is_graph(path: str) -> bool:
    """Whether ``graph_gadgets`` knows what to look for."""
    name = path.rpartition("/")[2].lower()
    suffixes = (".keras", ".h5", ".hdf5", ".onnx")
    return name.endswith(suffixes) or name in _GRAPHS


_GRAPHS = ("saved_model.pb", "saved_model.pbtxt", "saved_model.cpb", "keras_metadata.pb")


def is_hdf5(source: Source, path: str) -> bool:
    """Whether a file on disk is of HDF5, whatever it is called. Raises HfinspectErrors."""
    return source.read(path, 0, len(MAGIC)) == MAGIC


def read_template(source: Source, path: str) -> str:
    """A chat template in a file of its own. Raises HfinspectErrors."""
    return source.read(path, 0, MAX_TEMPLATE_CHARS).decode("utf-8", "backslashreplace")
