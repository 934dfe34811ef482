"""Graphs that other libraries run: what an ONNX file, a SavedModel or a Keras config names.

ONNX: onnx/onnx.proto (ModelProto.graph 7, GraphProto.initializer 5, TensorProto.external_data 13).
TensorFlow: core/protobuf/saved_model.proto, meta_graph.proto, core/framework/graph.proto,
function.proto, node_def.proto. Keras: keras/src/saving/serialization_lib.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...core.paths import why_unsafe
from ...errors import FormatError, HfinspectError
from ...formats.base import Reader
from ...formats.hdf5 import root_texts
from ...formats.protobuf import Wanted, fields
from ...formats.torch.zip_directory import read_directory, read_member
from ...formats.window import Cursor, Windows
from .target import Gadget

#: Bytes of a graph that are read; weights inside of it are passed over.
MAX_GRAPH_BYTES = 64 * 1024 * 1024
#: The description of a Keras model stays below some megabytes.
MAX_KERAS_CONFIG = 16 * 1024 * 1024
#: So much of an HDF5 file is searched as it stands, as no attribute of the root may be read there.
HDF5_HEAD = 1024 * 1024
#: Things of one file that are reported.
MAX_GADGETS = 50


#: Graphs in attributes of nodes (If, Loop), as deep as anybody writes them.
_EXTERNAL: Wanted = {1: "key", 2: "value"}
_TENSOR: Wanted = {13: _EXTERNAL}


def _graph(depth: int) -> Wanted:
    attribute: dict[int, Wanted | str] = {5: _TENSOR, 10: _TENSOR}
    if depth:
        attribute |= {6: _graph(depth - 1), 11: _graph(depth - 1)}
    sparse: Wanted = {1: _TENSOR, 2: _TENSOR}
    return {1: {5: attribute}, 5: _TENSOR, 15: sparse}


_ONNX: Wanted = {7: _graph(4), 25: {7: _graph(2)[1]}}
_NODE: Wanted = {2: "op"}
_SAVED_MODEL: Wanted = {2: {2: {1: _NODE, 2: {1: {3: _NODE}}}}}

#: Operators that touch files or run Python.
_OPERATORS = {
    "ReadFile": "reads a file of the machine", "WriteFile": "writes a file",
    "MatchingFiles": "lists files of the machine", "PyFunc": "calls Python",
    "PyFuncStateless": "calls Python", "EagerPyFunc": "calls Python",
    "DeleteFile": "deletes files", "SaveDataset": "writes files", "SaveDatasetV2": "writes files",
    "PrintV2": "can write to a file", "RegisterDataset": "opens a connection",
    "DebugIdentityV2": "writes to a file or a connection", "DebugIdentity": "connects",
}  # fmt: skip
_LOOKS_ONLY = frozenset({"MatchingFiles", "PrintV2"})


def onnx_gadgets(reader: Reader, size: int) -> list[Gadget]:
    """Weights that an ONNX file takes from outside its folder. Raises HfinspectErrors."""
    found: list[Gadget] = []
    key = b""
    for name, value in fields(reader.path, _cursor(reader), size, _ONNX):
        if name == "key":
            key = value
        elif key == b"location":
            location = value.decode("utf-8", "backslashreplace")
            why = why_unsafe(location.removeprefix("./"))
            if why is not None and len(found) < MAX_GADGETS:
                text = f"takes weights from {location!a:.150}, which {why}"
                found.append(Gadget("onnx-outside", reader.path, text, "error"))
    return found


def saved_model_gadgets(reader: Reader, size: int) -> list[Gadget]:
    """Operators of a SavedModel that touch files. Raises HfinspectErrors."""
    seen: dict[str, int] = {}
    for _, value in fields(reader.path, _cursor(reader), size, _SAVED_MODEL):
        operator = value.decode("ascii", "replace")
        if operator in _OPERATORS:
            seen[operator] = seen.get(operator, 0) + 1
    return [
        Gadget("graph-files", reader.path, f"{name} ({count:,} times) {_OPERATORS[name]}",
               "warning" if name in _LOOKS_ONLY else "error")
        for name, count in seen.items()
    ]  # fmt: skip


def _cursor(reader: Reader) -> Cursor:
    return Cursor(reader, limit=MAX_GRAPH_BYTES, rule="protobuf")


# ---- Keras

_ESCAPE = re.compile(rb"\\u00([0-7][0-9a-fA-F])")
_PAIR = re.compile(rb'"(class_name|module|vocabulary|function_type)"\s*:\s*"([^"\\]{0,300})"')
#: Modules whose classes a Keras config may name; other names are looked up by import.
_KERAS_ROOTS = frozenset({"keras", "tf_keras", "keras_hub", "keras_nlp", "keras_cv", "keras_core",
                          "builtins", "tensorflow"})  # fmt: skip
_NO_LAYERS = re.compile(
    r"(?:keras|tf_keras|keras_core|tensorflow\.python\.keras|tensorflow\.keras)"
    r"(?:\.src)?\.(?:utils|saving|export|legacy\.saving)(?:\..*)?",
    re.ASCII,
)


def keras_text_gadgets(path: str, text: bytes) -> list[Gadget]:
    """What a Keras config in JSON, however it is spelled, makes a loader run or import."""
    plain = _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), text)
    found = dict.fromkeys(
        gadget for match in _PAIR.finditer(plain) for gadget in _keras(path, match[1], match[2])
    )
    return list(found)[:MAX_GADGETS]


def _keras(path: str, key: bytes, value: bytes) -> Iterator[Gadget]:
    name = value.decode("utf-8", "backslashreplace")
    if key == b"function_type" and name == "lambda":
        key, name = b"class_name", "__lambda__"
    if key == b"class_name" and name in ("Lambda", "__lambda__"):
        text = "has a Lambda layer: Python bytecode that runs when the model is built"
        yield Gadget("model-code", path, text, "error")
    elif key == b"class_name" and name.rpartition(">")[2] == "TorchModuleWrapper":
        yield Gadget("model-code", path, "has a TorchModuleWrapper, which unpickles", "error")
    elif key == b"module":
        root = name.partition(".")[0]
        if root not in _KERAS_ROOTS or _NO_LAYERS.fullmatch(name):
            yield Gadget("model-code", path, f"imports {name!a:.120} to build a layer", "error")
    elif key == b"vocabulary" and name:
        yield Gadget("model-code", path, f"reads the file {name!a:.120}", "warning")


def keras_gadgets(file: Windows) -> list[Gadget]:
    """The same of a ``.keras`` or ``.h5`` file; one without a description holds weights alone.

    Raises HfinspectErrors.
    """
    if file.path.lower().endswith((".h5", ".hdf5")):
        return _hdf5_gadgets(file)
    entries = {entry.name: entry for entry in read_directory(file).entries}
    if "config.json" not in entries:
        return []
    text = read_member(file, entries["config.json"], MAX_KERAS_CONFIG)
    if text.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in text[:4]:
        raise FormatError(file.path, "its config is no UTF-8", rule="keras-config")
    return keras_text_gadgets(file.path, text)


def _hdf5_gadgets(file: Windows) -> list[Gadget]:
    """What the beginning of the file shows, and what the attributes of its root say."""
    found = keras_text_gadgets(file.path, file.read(0, HDF5_HEAD))
    try:
        texts = root_texts(file)
    except HfinspectError:
        if found:
            return found
        raise
    for text in texts.values():
        found += keras_text_gadgets(file.path, text)
    return list(dict.fromkeys(found))
