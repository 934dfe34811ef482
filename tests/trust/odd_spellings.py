"""Files that run code and are spelled as nobody spells them, each with the loader that proves it:
archives that readers take differently, templates and Keras configs that hide what they name."""

from __future__ import annotations

import base64
import gzip
import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .evil import EVIL_PICKLE, Sample

LATE = Path(__file__).parents[2] / "fixtures" / "trust" / "keras_late.json"

BLOCK = 512
END = bytes(2 * BLOCK)


def odd() -> Iterator[Sample]:
    yield from _tars()
    yield from _archives()
    for title, text in TEMPLATES.items():
        yield Sample("odd templates", title, "chat_template.jinja", "jinja", text.encode())
    config = json.dumps(_call("os", "makedirs", ["canary"])).encode()
    yield Sample("odd Keras", "a config alone", "model.json", "keras json", config)
    packed = json.loads(LATE.read_text(encoding="utf-8"))["files"]["late.h5"]
    data = lzma.decompress(base64.b64decode(packed))
    yield Sample("odd Keras", "a description far into the file", "m.h5", "keras", data)


# ---- archives


def header(name: bytes, size: int, kind: bytes = b"0", *, gnu: bool = False) -> bytearray:
    block = bytearray(BLOCK)
    block[: len(name)] = name
    block[100:108] = b"0000755\0"
    block[108:116] = b"0000000\0"
    block[116:124] = b"0000000\0"
    block[124:136] = b"%011o\0" % size
    block[136:148] = b"%011o\0" % 0
    block[156:157] = kind
    block[257:265] = b"ustar  \0" if gnu else b"ustar\x0000"
    return summed(block)


def summed(block: bytearray) -> bytearray:
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return block


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % BLOCK)


INNER = bytes(header(b"m.ckpt", len(EVIL_PICKLE))) + padded(EVIL_PICKLE)


def pax_size(size: int, kind: bytes = b"x") -> bytes:
    record = b" size=%d\n" % size
    record = b"%d%s" % (len(record) + len(str(len(record) + 1)), record)
    return bytes(header(b"x", len(record), kind)) + padded(record)


def _tars() -> Iterator[Sample]:
    """Python's tarfile passes over no data of a folder, and believes an extended header."""
    folder = bytes(header(b"d/", len(INNER), b"5")) + INNER + END
    yield Sample("odd archives", "a folder with a size", "m.nemo", "tar", folder)
    packed = gzip.compress(folder)
    yield Sample("odd archives", "the same compressed", "m.nemo", "tar", packed)
    sound = bytes(header(b"a.wav", BLOCK + len(INNER))) + padded(b"hello") + INNER + END
    yield Sample("odd archives", "two sizes of a member", "m.nemo", "tar", pax_size(5) + sound)
    sparse = header(b"s", 0, b"S", gnu=True)
    sparse[482] = 1
    data = bytes(summed(sparse)) + bytes(BLOCK) + INNER + END
    yield Sample("odd archives", "a sparse member", "m.nemo", "tar", data)
    first = bytes(header(b"a.wav", 5)) + padded(b"hello") + END
    yield Sample("odd archives", "behind the end", "m.tar", "tar on and on", first + INNER + END)


def _archives() -> Iterator[Sample]:
    data = b"ZF" + hex(len(EVIL_PICKLE)).encode().ljust(19) + zlib.compress(EVIL_PICKLE)
    yield Sample("odd archives", "joblib before 0.10", "m.dat", "joblib", data)
    for method, title in ((zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "LZMA")):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as archive:
            archive.writestr("weights", EVIL_PICKLE)
        yield Sample("odd archives", f"{title} in zip", "m.zip", "all unzipped", out.getvalue())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("m.pkl", EVIL_PICKLE)
    for prefix in (b"#!/bin/sh\n", b"GGUF", b"\x89PNG\r\n"):
        data = prefix + out.getvalue()
        yield Sample("odd archives", f"a zip file behind {prefix!r}", "m.dat", "archive", data)
    for number in (b"I", b"F", b"L"):
        line = (
            number
            + b"0." * (number == b"F")
            + b"1" * 700
            + (b"L" if number == b"L" else b"")
            + b"\n0"
        )
        yield Sample(
            "odd archives", f"700 digits of {number!r}", "notes", "pickle", line + EVIL_PICKLE
        )


# ---- texts

_END_OF = ".popen('touch canary').read() }}"
TEMPLATES = {
    "a comment that begins in a text": "{{ '{#' }}{{ cycler.__init__.__globals__.os"
    + _END_OF
    + "{{ '#}' }}",
    "an end in a text": "{{ '}}' ~ cycler.__init__.__globals__.os" + _END_OF,
    "an end among brackets": "{{ {'a':{}}, cycler.__init__.__globals__.os" + _END_OF,
    "a comment in what is raw": "{% raw %}{#{% endraw %}{{ cycler.__init__.__globals__.os"
    + _END_OF
    + "{# #}",
    "two halves": "{{ cycler['__in'~'it__']['__glo'~'bals__']['os']" + _END_OF,
    "two halves, set before": "{% set a='__in'~'it__' %}{% set b='__glo'~'bals__' %}"
    "{{ cycler[a][b]['os']" + _END_OF,
    "joined": "{{ ''.join.__self__ if 0 else cycler[['_','_init_','_']|join]"
    "[['_','_globals_','_']|join]['os']" + _END_OF,
    "joined, of an object": "{% set x = namespace %}{{ x[['_','_init_','_']|join]"
    "[['_','_globals_','_']|join]['os']" + _END_OF,
    "formatted": "{% set x = namespace %}{{ x['%sinit%s'|format('_'*2,'_'*2)]"
    "['%sglobals%s'|format('_'*2,'_'*2)]['os']" + _END_OF,
    "turned round": "{% set x = namespace %}{{ x['__tini__'[::-1]]"
    "['__slabolg__'[::-1]]['os']" + _END_OF,
    "cut out": "{% set x = namespace %}{{ x['y__init__y'[1:-1]]"
    "['y__globals__y'[1:-1]]['os']" + _END_OF,
    "replaced": "{% set x = namespace %}{{ x['@@init@@'|replace('@','_')]"
    "['@@globals@@'|replace('@','_')]['os']" + _END_OF,
    "the key of a dict": "{{ lipsum[dict(__globals__=1)|list|first].os" + _END_OF,
}


def _call(module: str, name: str, args: list[object]) -> dict[str, Any]:
    """A Keras model of one function, which is called when the model is built."""
    layer = {
        "module": module,
        "class_name": name,
        "registered_name": name,
        "config": {},
        "name": "r",
        "inbound_nodes": [{"args": args, "kwargs": {}}],
    }
    return {
        "module": "keras.src.models.functional",
        "class_name": "Functional",
        "registered_name": None,
        "config": {
            "name": "m",
            "trainable": True,
            "layers": [layer],
            "input_layers": [["r", 0, 0]],
            "output_layers": [["r", 0, 0]],
        },
    }
