"""More files that run code: compressed ones, and pickles under names that promise none."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator

from ..formats.torch_files import torch_zip
from .attacks import _npy, samples
from .evil import EVIL, EVIL_PICKLE, Sample
from .gadgets import gadgets
from .opcodes import pickled, value

_OBJECTS = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"

#: As joblib, ``gzip.open`` and their kin write them, and by what they are opened.
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "zlib": zlib.compress,
    "zlib, level 1": lambda data: zlib.compress(data, 1),
    "zlib, level 9": lambda data: zlib.compress(data, 9),
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
}

#: Names that say nothing of a pickle.
NAMES = (
    "model.sav",
    "weights.dat",
    "tokenizer.model",
    "checkpoint",
    "data.db",
    "notes.txt",
    "a.onnx",
    "config.yaml",
    "vectors.vec",
    "weights.msgpack",
    "image.png",
    "x.h5",
    ".hidden",
    "model.v1.2",
    "a/b/c.unknown",
)


def every_sample() -> list[Sample]:
    """Those of ``attacks``, of ``gadgets`` and of this file."""
    return [*samples(), *_compressed(), *_renamed(), *_tars(), *_templates(), *gadgets()]


def _compressed() -> Iterator[Sample]:
    kind = "compressed"
    for name, press in COMPRESSIONS.items():
        yield Sample(kind, f"{name}, .joblib", "m.joblib", "joblib", press(EVIL_PICKLE))
        yield Sample(kind, f"{name}, .pkl", "m.pkl", "joblib", press(EVIL_PICKLE))
        yield Sample(kind, f"{name}, .z", "m.z", "joblib", press(EVIL_PICKLE))
    two = gzip.compress(b"\x80\x04" + EVIL.code) + gzip.compress(b".")
    yield Sample(kind, "two streams of gzip", "m.pkl", "gzip", two)
    empty = gzip.compress(b"") + gzip.compress(EVIL_PICKLE)
    yield Sample(kind, "an empty stream in front", "m.pkl.gz", "gzip", empty)
    cut = gzip.compress(EVIL_PICKLE + bytes(range(256)) * 9)[:-20]
    yield Sample(kind, "damaged behind the pickle", "m.pkl", "gzip", cut)
    long = b"\x80\x04" + value("x" * 3_000_000) + b"0" + EVIL.code + b"."
    yield Sample(kind, "behind three megabytes", "m.pkl", "gzip", gzip.compress(long))
    old = b"S'" + b"x" * 2000 + b"'\n0" + b"cos\nsystem\n(S'touch canary'\ntR."
    yield Sample(kind, "protocol 0", "m.gz", "gzip", gzip.compress(old))
    array = _npy(_OBJECTS, EVIL_PICKLE)
    yield Sample(kind, ".npy inside .pkl", "m.pkl", "numpy", array)


def _renamed() -> Iterator[Sample]:
    kind = "other names"
    forms: dict[str, tuple[bytes, str]] = {
        "a pickle": (EVIL_PICKLE, "pickle"),
        "joblib": (zlib.compress(EVIL_PICKLE), "joblib"),
        "torch": (torch_zip(EVIL_PICKLE, {}), "torch"),
        "NumPy": (_npy(_OBJECTS, EVIL_PICKLE), "numpy"),
        "protocol 0": (b"cos\nsystem\n(S'touch canary'\ntR.", "pickle"),
        "protocol 0 behind text": (
            b"S'" + b"y" * 9000 + b"'\n0cos\nsystem\n(S'touch canary'\ntR.",
            "pickle",
        ),
        "protocol 1": (pickled(EVIL, 1), "pickle"),
        "protocol 0 without an end": (b"cos\nsystem\n(S'touch canary'\ntRcbad\n\xff", "pickle"),
    }
    for number, (title, (data, loader)) in enumerate(forms.items()):
        for name in NAMES[number % 3 :: 3]:
            yield Sample(kind, f"{title}, {name}", name.replace("/", "_"), loader, data)


def _tars() -> Iterator[Sample]:
    """As NeMo's archives: unpacked, then torch loads what is inside."""
    for name in ("m.nemo", "m.tar", "m.bin", "m"):
        for mode in ("w", "w:gz"):
            for form in (tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT):
                out = io.BytesIO()
                with tarfile.open(fileobj=out, mode=mode, format=form) as archive:
                    for member, data in (
                        ("model_config.yaml", b"a: 1\n"),
                        ("model_weights.ckpt", torch_zip(EVIL_PICKLE, {})),
                    ):
                        info = tarfile.TarInfo(member)
                        info.size = len(data)
                        archive.addfile(info, io.BytesIO(data))
                data = out.getvalue()
                yield Sample("tar archives", f"{name}, {mode}, {form}", name, "tar", data)
    old = _old_tar(torch_zip(EVIL_PICKLE, {}))
    yield Sample("tar archives", "without a magic number", "m.dat", "tar", old)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("inner.joblib", zlib.compress(EVIL_PICKLE))
    for member, data in (
        ("readme.txt", EVIL_PICKLE),
        ("a/version", EVIL_PICKLE),
        ("code/x.py", EVIL_PICKLE),
        ("handler", b"cos\nsystem\n(S'touch canary'\ntR."),
    ):
        with zipfile.ZipFile(hidden := io.BytesIO(), "w") as archive:
            archive.writestr(member, data)
        title = f"a pickle called {member} in zip"
        yield Sample("nested archives", title, "m.zip", "all unzipped", hidden.getvalue())
    yield Sample("nested archives", "joblib in zip", "m.zip", "unzipped", out.getvalue())


#: Chat templates that run a program where they are rendered without a sandbox.
TEMPLATES = (
    "{{ cycler.__init__.__globals__.os.popen('touch canary').read() }}",
    "{{ lipsum['__globals__']['os'].popen('touch canary').read() }}",
    "{{ (joiner|attr('__init__')|attr('__globals__'))['os'].popen('touch canary').read() }}",
    "{{ namespace['\\x5f\\x5finit\\x5f\\x5f'].__globals__.os.popen('touch canary').read() }}",
    "{% set a = '__glo' ~ 'bals__' %}{{ (lipsum|attr(a))['os'].popen('touch canary').read() }}",
    "{%- for c in [cycler.__init__] -%}{{ c.__globals__['os'].mkdir('canary') }}{%- endfor -%}",
)


def _templates() -> Iterator[Sample]:
    for text in TEMPLATES:
        data = text.encode()
        yield Sample("chat templates", text, "chat_template.jinja", "jinja", data)


def _old_tar(data: bytes) -> bytes:
    """Version 7 of Unix: no magic, and the sum of the block's bytes."""
    head = bytearray(512)
    head[:7] = b"m.ckpt\0"
    head[100:108] = head[108:116] = head[116:124] = b"0000644\0"
    head[124:136] = b"%011o\0" % len(data)
    head[136:148] = b"00000000000\0"
    head[148:156] = b"        "
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + data + bytes(-len(data) % 512 + 1024)
