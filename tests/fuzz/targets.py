"""What is fuzzed: functions of bytes that return, or raise an error of this package.

``tests.fuzz.under_atheris`` runs one of them. Anything else that a target raises is a bug.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import lzma
import pickle
import tempfile
from collections.abc import Callable

from hfinspect.auditing.facts.graphs import (
    keras_text_gadgets,
    onnx_gadgets,
    saved_model_gadgets,
    saved_model_text_gadgets,
)
from hfinspect.auditing.facts.templates import danger_in
from hfinspect.checkpoints.json_files import parse_json
from hfinspect.checkpoints.token_table import parse_tokenizer
from hfinspect.checkpoints.weight_map import parse_index
from hfinspect.errors import HfinspectError
from hfinspect.formats.base import BytesReader
from hfinspect.formats.gguf import gguf
from hfinspect.formats.hdf5 import root_texts
from hfinspect.formats.pickles.globals import scan_pickle
from hfinspect.formats.safetensors.safetensors import judge_header
from hfinspect.formats.torch.torch import FORMAT, scan_file
from hfinspect.formats.window import Windows

from ..auditing.sound import made
from ..formats.gguf_files import GgufWriter
from ..formats.test_safetensors_oracle import assert_same_verdict
from ..trust.gadgets import LAMBDA
from ..trust.odd_spellings import odd

Target = Callable[[bytes], None]


def _reader(data: bytes) -> BytesReader:
    return BytesReader("fuzzed", data)


def safetensors(data: bytes) -> None:
    judge_header(_reader(data))


def gguf_file(data: bytes) -> None:
    gguf.FORMAT.read_header(_reader(data))


def torch_file(data: bytes) -> None:
    FORMAT.read_header(_reader(data))


def pickles(data: bytes) -> None:
    scan_pickle(data)


def archives(data: bytes) -> None:
    scan_file(_reader(data))


def graphs(data: bytes) -> None:
    with contextlib.suppress(HfinspectError):
        onnx_gadgets(_reader(data), len(data))
    with contextlib.suppress(HfinspectError):
        saved_model_gadgets(_reader(data), len(data))
    saved_model_text_gadgets("fuzzed", data)


def hdf5(data: bytes) -> None:
    root_texts(Windows(_reader(data)))


def texts(data: bytes) -> None:
    keras_text_gadgets("fuzzed", data)
    danger_in(data.decode("utf-8", "replace"))
    with contextlib.suppress(HfinspectError):
        parse_index("fuzzed", data)
    parse_json("fuzzed", data)


def token_lists(data: bytes) -> None:
    for path in ("tokenizer.model", "qwen.tiktoken", "tekken.json"):
        with contextlib.suppress(HfinspectError):
            parse_tokenizer(path, data)


def as_safetensors_does(data: bytes) -> None:
    """The library accepts exactly what we accept, and finds the same tensors."""
    assert_same_verdict(data)


def as_gguf_does(data: bytes) -> None:
    """What both readers accept has the same tensors."""
    from gguf import GGUFReader

    ours = gguf.FORMAT.read_header(_reader(data))
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        file.write(data)
        file.flush()
        try:
            theirs = GGUFReader(file.name)
        except Exception:
            return  # it checks less and stops otherwise
        shapes = [(t.name, tuple(int(n) for n in reversed(t.shape))) for t in theirs.tensors]
    if not ours.findings:
        assert [(t.name, t.shape) for t in ours.tensors] == shapes


TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        safetensors,
        gguf_file,
        torch_file,
        pickles,
        archives,
        graphs,
        hdf5,
        texts,
        token_lists,
        as_safetensors_does,
        as_gguf_does,
    )
}


def seeds() -> list[bytes]:
    """Small sound files of every kind, and some that are no files at all."""
    contents = [
        content
        for base in ("single", "torch", "gguf", "adapter")
        for content in made(base).values()
        if len(content) < 200_000
    ]
    template = GgufWriter().text("tokenizer.chat_template", "{{ x.__class__ }}").bytes(0)
    plain = pickle.dumps({"a": [1, 2.5, "x", (None, True)]}, 2)
    onnx = bytes.fromhex("3a182a166a140a086c6f636174696f6e1208782e62696e3030")
    keras = json.dumps({"class_name": "Lambda", "module": "os"}).encode()
    packed = json.loads(LAMBDA.read_text(encoding="utf-8"))["files"]["lambda.h5"]
    attributes = lzma.decompress(base64.b64decode(packed))
    tars = [s.data for s in odd() if s.category == "odd archives"]
    return [
        *contents,
        *tars,
        attributes,
        template,
        plain,
        gzip.compress(plain),
        onnx,
        keras,
        b"\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02\x0a\x03\x0a\x01a",
        b"IQ== 0\nIg== 1\n",
        b"",
        bytes(64),
    ]


def run_one(name: str, data: bytes) -> None:
    """Raises what is a bug."""
    with contextlib.suppress(HfinspectError):
        TARGETS[name](data)
