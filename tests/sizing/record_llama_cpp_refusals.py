"""Records which files a real llama.cpp loads, each a sound one with one thing different.

    python -m tests.sizing.record_llama_cpp_refusals --library libllama.so [--only NAME ...]

The sound files are those of fixtures/oracle/llama_cpp.json. Every load is a process of its own,
for llama.cpp aborts where an assertion of its fails. The record, llama_cpp_refusals.json, has what
loads; what else ``mutations`` makes is refused.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import tempfile
from pathlib import Path

from hfinspect.formats.gguf.ggml_types import GGML_TYPES
from tests.formats.gguf_files import GgufWriter
from tests.sizing.llama_cpp_mutations import Mutated, bases, mutations
from tests.sizing.llama_cpp_record import RECORD, recorded, write_key

REFUSALS = RECORD.with_name("llama_cpp_refusals.json")
_KINDS = {form.name: number for number, form in GGML_TYPES.items()}
#: More than llama_model_params takes; it is passed on as it came.
_PARAMS = 1024


#: Functions that C calls live as long as it may.
_KEPT: list[object] = []


class _Params(ctypes.Structure):
    _fields_ = [("content", ctypes.c_byte * _PARAMS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--words", action="store_true", help="llama.cpp's own, on the terminal")
    asked = parser.parse_args()
    os.environ["GGML_NO_BACKTRACE"] = "1"  # else a debugger is started at every abort
    library = opened(asked.library, asked.words)
    record = {one.name: one for one in recorded()}
    made = json.loads(REFUSALS.read_text()) if REFUSALS.exists() and asked.only else {}
    for name in bases(record):
        if asked.only and name not in asked.only:
            continue
        loaded = [one.what for one in mutations(record[name]) if loads(library, one)]
        if "" not in loaded:
            sys.stdout.write(f"{name}: not even as it is\n")
            continue
        made[name] = loaded[1:]
        lines = ",\n".join(f"{json.dumps(one)}: {json.dumps(made[one])}" for one in sorted(made))
        REFUSALS.write_text(f"{{\n{lines}\n}}\n")
    sys.stdout.write(f"{len(made)} files\n")


def opened(path: Path, words: bool) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    library.llama_model_default_params.restype = _Params
    library.llama_model_load_from_file.argtypes = [ctypes.c_char_p, _Params]
    library.llama_model_load_from_file.restype = ctypes.c_void_p
    if not words:
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
        silent = kind(lambda *_: None)
        _KEPT.append(silent)
        library.llama_log_set(silent, None)
    library.llama_backend_init()
    return library


def loads(library: ctypes.CDLL, mutated: Mutated) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        write(mutated, path)
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            params = library.llama_model_default_params()
            model = library.llama_model_load_from_file(str(path).encode(), params)
            os._exit(0 if model else 1)
        _, status = os.waitpid(child, 0)
        return status == 0


def write(mutated: Mutated, path: Path) -> None:
    """The file, its weights a hole."""
    writer = GgufWriter()
    for key, value in mutated.keys.items():
        write_key(writer, key, value)
    offset = 0
    for name, shape, dtype in mutated.tensors:
        kind = _KINDS[dtype]
        writer.tensor(name, shape, kind, offset)
        offset += -(-GGML_TYPES[kind].stored_bytes(shape) // 32) * 32
    head = writer.header()
    with path.open("wb") as file:
        file.write(head + bytes(-len(head) % 32))
        file.truncate(len(head) + -len(head) % 32 + offset)


if __name__ == "__main__":
    main()
