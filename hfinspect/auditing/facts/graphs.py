"""Graphs that other libraries run: what an ONNX file, a SavedModel or a Keras config names.

ONNX: onnx/onnx.proto (ModelProto.graph 7, GraphProto.initializer 5, TensorProto.external_data 13).
TensorFlow: core/protobuf/saved_model.proto, meta_graph.proto, core/framework/graph.proto,
function.proto, node_def.proto. Keras: keras/src/saving/serialization_lib.py.
"""

import re
from collections.abc import Iterator, Mapping

from ...core.nesting import loads
from ...core.paths import why_unsafe
from ...errors import FormatError, HfinspectError
from ...formats.base import BytesReader, Reader
from ...formats.hdf5 import root_texts
from ...formats.protobuf import Wanted, fields
from ...formats.torch.unpacking import UnreadPartError
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


# An entry of external data is taken whole, as its key may come after its value.
_TENSOR: Wanted = {13: "entry"}
_SPARSE: Wanted = {1: _TENSOR, 2: _TENSOR}
# Graphs lie in attributes of nodes (If, Loop), and these in graphs.
_ATTRIBUTE: dict[int, Wanted | str] = {5: _TENSOR, 10: _TENSOR, 22: _SPARSE, 23: _SPARSE}
_NODES: Wanted = {5: _ATTRIBUTE}
_GRAPH: Wanted = {1: _NODES, 5: _TENSOR, 15: _SPARSE}
_ATTRIBUTE |= {6: _GRAPH, 11: _GRAPH}
_ONNX: Wanted = {7: _GRAPH, 20: {1: _GRAPH, 2: _GRAPH}, 25: {7: _NODES, 11: _ATTRIBUTE}}
_NODE: Wanted = {2: "op"}
_SAVED_MODEL: Wanted = {2: {2: {1: _NODE, 2: {1: {3: _NODE}}}}}

#: Operators that touch files or run Python.
_OPERATORS = {
    "ReadFile": "reads a file of the machine",
    "WriteFile": "writes a file",
    "MatchingFiles": "lists files of the machine",
    "PyFunc": "calls Python",
    "PyFuncStateless": "calls Python",
    "EagerPyFunc": "calls Python",
    "DeleteFile": "deletes files",
    "SaveDataset": "writes files",
    "SaveDatasetV2": "writes files",
    "PrintV2": "can write to a file",
    "RegisterDataset": "opens a connection",
    "DebugIdentityV2": "writes to a file or a connection",
    "DebugIdentity": "connects",
}
_LOOKS_ONLY = frozenset({"MatchingFiles", "PrintV2"})


def onnx_gadgets(reader: Reader, size: int) -> list[Gadget]:
    """Weights that an ONNX file takes from outside its folder. Raises HfinspectErrors."""
    gadgets: list[Gadget] = []
    for _, entry in fields(reader.path, _cursor(reader), size, _ONNX):
        parts = list(fields(reader.path, _in_memory(reader.path, entry), len(entry), _ENTRY))
        if ("key", b"location") not in parts:
            continue
        for location in [value.decode("utf-8", "backslashreplace") for _, value in parts]:
            why = why_unsafe(location.removeprefix("./"))
            if why is not None and len(gadgets) < MAX_GADGETS:
                text = f"takes weights from {location!a:.150}, which {why}"
                gadgets.append(Gadget("onnx-outside", reader.path, text, "error"))
    return gadgets


_ENTRY: Wanted = {1: "key", 2: "value"}


def _in_memory(path: str, data: bytes) -> Cursor:
    return Cursor(BytesReader(path, data), limit=max(len(data), 1), rule="protobuf")


def saved_model_gadgets(reader: Reader, size: int) -> list[Gadget]:
    """Operators of a SavedModel that touch files. Raises HfinspectErrors."""
    counts: dict[str, int] = {}
    for _, value in fields(reader.path, _cursor(reader), size, _SAVED_MODEL):
        operator = value.decode("ascii", "replace")
        if operator in _OPERATORS:
            counts[operator] = counts.get(operator, 0) + 1
    return _operators(reader.path, counts)


def _operators(path: str, counts: Mapping[str, int]) -> list[Gadget]:
    return [
        Gadget(
            "graph-files",
            path,
            f"{name} ({count:,} times) {_OPERATORS[name]}",
            "warning" if name in _LOOKS_ONLY else "error",
        )
        for name, count in counts.items()
    ]


_OP = re.compile(rb"""\bop\s*:?\s*((?:["'](?:[^"'\\]|\\.)*["']\s*)+)""", re.DOTALL)


def saved_model_text_gadgets(path: str, text: bytes) -> list[Gadget]:
    """The same of a SavedModel written as text, where a name may be spelled with escapes and in
    pieces: UnreadPartError for such a one."""
    counts: dict[str, int] = {}
    for match in _OP.finditer(text):
        name = re.sub(rb"""["']\s*["']|\s""", b"", match[1]).strip(b"\"'")
        if b"\\" in name:
            raise UnreadPartError(path, "spells the names of operators with escapes")
        operator = name.decode("ascii", "replace")
        if operator in _OPERATORS:
            counts[operator] = counts.get(operator, 0) + 1
    return _operators(path, counts)


def _cursor(reader: Reader) -> Cursor:
    return Cursor(reader, limit=MAX_GRAPH_BYTES, rule="protobuf")


# ---- Keras

_ESCAPE = re.compile(rb"\\u00([0-7][0-9a-fA-F])")
_PAIR = re.compile(
    rb'"(class_name|module|vocabulary|function_type)"\s*:\s*("(?:[^"\\]|\\.)*")', re.DOTALL
)
#: Modules whose classes and functions a Keras config may name, as each library's own configs do;
#: any other is imported. Not among them are those that read files, download or deserialise.
_KERAS_MODULES = re.compile(
    r"builtins|(?:keras|tf_keras|keras_core|keras_hub|keras_nlp|keras_cv"
    r"|tensorflow\.keras|tensorflow\.python\.keras)(?:\.(?:_tf_keras|api|src|engine|keras))*"
    r"(?:\.(?:layers|models|functional|sequential|training|initializers|regularizers|constraints"
    r"|optimizers|losses|metrics|activations|ops|random|quantizers|dtype_policies|mixed_precision"
    r"|distribution|tokenizers|samplers|backend\.common\.keras_tensor)(?:\.\w+)*)?"
    r"|tensorflow\.python\.(?:ops\.(?:math_ops|nn_ops|array_ops|gen_math_ops|init_ops\w*)"
    r"|framework\.dtypes)",
    re.ASCII,
)
#: Parts of these that do more, wherever they stand in the name.
_NO_LAYERS = re.compile(
    r"\.(?:utils|saving|export|file_utils|datasets|preset_utils|download\w*|io\w*|data_utils)"
    r"(?:\.|\Z)"
)


def keras_text_gadgets(path: str, text: bytes) -> list[Gadget]:
    """What a Keras config in JSON, however it is spelled, makes a loader run or import."""
    plain = _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), text)
    gadgets = dict.fromkeys(
        gadget for match in _PAIR.finditer(plain) for gadget in _keras(path, match[1], match[2])
    )
    return sorted(gadgets, key=lambda gadget: gadget.severity)[:MAX_GADGETS]  # errors first


def _keras(path: str, key: bytes, value: bytes) -> Iterator[Gadget]:
    text = value.decode("utf-8", "backslashreplace")
    try:
        name = str(loads(text, strict=False))
    except ValueError:
        name = text
    if key == b"function_type" and name == "lambda":
        key = b"class_name"
        name = "__lambda__"
    if key == b"class_name" and name in ("Lambda", "__lambda__"):
        text = "has a Lambda layer: Python bytecode that runs when the model is built"
        yield Gadget("model-code", path, text, "error")
    elif key == b"class_name" and name.rpartition(">")[2] == "TorchModuleWrapper":
        yield Gadget("model-code", path, "has a TorchModuleWrapper, which unpickles", "error")
    elif key == b"module":
        if not _KERAS_MODULES.fullmatch(name) or _NO_LAYERS.search(name):
            yield Gadget("model-code", path, f"imports {name!a:.120} to build a layer", "error")
    elif key == b"vocabulary" and name:
        yield Gadget("model-code", path, f"reads the file {name!a:.120}", "warning")


def keras_gadgets(file: Windows) -> list[Gadget]:
    """The same of a ``.keras`` file; one without a description holds weights alone.

    Raises HfinspectErrors.
    """
    entries = {entry.name: entry for entry in read_directory(file).entries}
    if "config.json" not in entries:
        return []
    text = read_member(file, entries["config.json"], MAX_KERAS_CONFIG)
    if text.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in text[:4]:
        raise FormatError(file.path, "its config is not UTF-8", rule="keras-config")
    return keras_text_gadgets(file.path, text)


def hdf5_gadgets(file: Windows) -> list[Gadget]:
    """What the beginning of an HDF5 file shows, and what the attributes of its root say.

    Raises HfinspectErrors.
    """
    gadgets = keras_text_gadgets(file.path, file.read(0, HDF5_HEAD))
    try:
        texts = root_texts(file)
    except HfinspectError:
        if gadgets:
            return gadgets
        raise
    for text in texts.values():
        gadgets += keras_text_gadgets(file.path, text)
    return list(dict.fromkeys(gadgets))
