"""Looks at files that are no weights: pickles of any kind, pointers, Keras archives."""

from __future__ import annotations

from ...checkpoints.file_bytes import SourceReader
from ...errors import HfinspectError
from ...formats.pickles.globals import PickleScan
from ...formats.sniff import SNIFF_BYTES, sniff
from ...formats.torch.torch import scan_file
from ...formats.torch.zip_directory import read_directory, read_member
from ...formats.window import Windows
from ...sources.source import Source

#: Endings of files that usually are pickles or archives with pickles.
PICKLE_SUFFIXES = (
    ".bin", ".pt", ".pth", ".ckpt", ".th", ".jit", ".pkl", ".pickle", ".pck", ".pcl", ".p",
    ".joblib", ".dill", ".pt2", ".mar", ".nemo", ".npy", ".npz",
)  # fmt: skip

#: The description of a Keras model stays below some megabytes.
MAX_KERAS_CONFIG = 16 * 1024 * 1024

#: So much of an HDF5 file is searched for its model description, an attribute of its root.
HDF5_HEAD = 1024 * 1024

_LAMBDA = b'"class_name": "Lambda"'


def scan_pickle_file(source: Source, path: str) -> tuple[tuple[str, PickleScan], ...]:
    """Names in a file's pickles; empty where it holds none. Raises HfinspectErrors."""
    return tuple(scan_file(Windows(SourceReader(source, path))))


def stand_in(source: Source, path: str) -> str | None:
    """What lies in place of a small file: a pointer, by its rule's name, or None."""
    rule = sniff(source.read(path, 0, SNIFF_BYTES), None)
    return rule if rule in ("lfs-pointer", "xet-pointer") else None


def keras_lambda(source: Source, path: str) -> bool | str:
    """Whether a Keras file has a Lambda layer, or why that is not known (may be empty)."""
    if path.lower().endswith(".h5"):
        head = source.read(path, 0, HDF5_HEAD)
        if _LAMBDA in head:
            return True
        size = source.list_files()[path].size
        whole = size is not None and size <= HDF5_HEAD
        return False if whole or b'"class_name":' in head else ""
    windows = Windows(SourceReader(source, path))
    try:
        entries = {entry.name: entry for entry in read_directory(windows).entries}
        if "config.json" not in entries:
            return "it holds no config.json"
        text = read_member(windows, entries["config.json"], MAX_KERAS_CONFIG)
    except HfinspectError as error:
        return str(error)
    return _LAMBDA in text or _LAMBDA.replace(b" ", b"") in text
