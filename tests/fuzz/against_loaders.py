"""Mutants of samples that run code: none may be accepted in silence and run in its loader.

    python -m tests.fuzz.against_loaders KIND SECONDS [SEED]

KIND is one of ``in_loaders.KINDS``. Samples and sound files are mutated; what the audit finds no
error in is loaded by its real loader (HFINSPECT_LOADERS_PYTHON, else this interpreter), in a
process that ends at the first sign of code. Prints how many there were; exits with 1 if one ran.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import IO, NamedTuple

import hfinspect

from ..trust.benign import benign_files
from ..trust.disguised import every_sample
from ..trust.gadgets import later
from ..trust.third_round import exported, scripted

#: Samples' loaders, and the name that the mutant gets, by kind.
KINDS = {
    "templates": (("jinja",), "chat_template.jinja"),
    "yaml": (("yaml", "hyperpyyaml", "hydra"), "m.yaml"),
    "exported": (("exported",), "m.pt2"),
    "joblib": (("joblib",), "m.joblib"),
    "torchscript": (("torchscript",), "m.pt"),
}
#: Sound texts, so that some mutants have no error.
_SOUND = {
    "templates": [
        b"{% for m in messages %}{{ m['role'] ~ ': ' ~ m.content|trim }}{% endfor %}",
        b"{% set ns = namespace(i=0) %}{% set ns.i = ns.i + 1 %}{{ cycler('a', 'b').next() }}",
        b"{% macro f(x, y) %}{{ x[y]|upper }}{% endmacro %}{{ f({'a': 'b'}, 'a') }}",
    ],
    "yaml": [b"a: &x {b: 1}\nc: *x\nd: [1, 2.5, null, 'text']\n", b"model:\n  layers: 2\n"],
    "exported": [exported("Symbol('s77', positive=True, integer=True)")],
    "joblib": [d for n, d in benign_files().items() if n.startswith("joblib/") and len(d) < 9000],
    "torchscript": [scripted("    pass\n"), scripted("    print(torch.add(w, 1))\n")],
}


class Result(NamedTuple):
    """Samples whose code was seen to run, mutants made, loaded (no error found in them), and those
    that ran."""

    seen: int
    made: int
    loaded: int
    ran: list[tuple[bytes, str]]


def seeds(kind: str) -> list[bytes]:
    loaders, _ = KINDS[kind]
    samples = [s.data for s in (*every_sample(), *later()) if s.loader in loaders]
    return [*samples, *_SOUND[kind]]


def mutants(kind: str, random: Random) -> Iterator[bytes]:
    """Without end. Text in archives is changed before it is packed."""
    contents = seeds(kind)
    if kind in ("exported", "torchscript"):
        texts, pack = _texts(kind)
        while True:
            yield pack(_mutated(random.choice(texts), texts, random))
    while True:
        yield _mutated(random.choice(contents), contents, random)


def _texts(kind: str) -> tuple[list[bytes], Callable[[bytes], bytes]]:
    from ..trust.third_round import EXPRESSIONS, FORMED, SCRIPTS

    if kind == "exported":
        sound = ["Symbol('s77', positive=True, integer=True)", "Add(Integer(1), Symbol('s1'))"]
        return [t.encode() for t in (*EXPRESSIONS.values(), *sound)], lambda data: exported(
            data.decode("utf-8", "replace")
        )
    sound = ["    x = torch.add(w, 1)\n", '    print(getattr(self, "w"))\n']
    return [
        t.encode() for t in (*SCRIPTS.values(), *FORMED.values(), *sound)
    ], lambda data: scripted(data.decode("latin-1"))


def _mutated(data: bytes, others: list[bytes], random: Random) -> bytes:
    for _ in range(random.choice((1, 1, 2, 3, 5))):
        data = random.choice((_flip, _cut, _twice, _spliced, _swapped, _word))(data, others, random)
    return data[:50_000]


def _span(data: bytes, random: Random) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.choice((1, 1, 2, 4, 8, 20)))


def _flip(data: bytes, _: list[bytes], random: Random) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    byte = random.choice((data[at] ^ 1 << random.randrange(8), random.randrange(256)))
    return data[:at] + bytes([byte]) + data[at + 1 :]


def _cut(data: bytes, _: list[bytes], random: Random) -> bytes:
    start, stop = _span(data, random)
    return data[:start] + data[stop:]


def _twice(data: bytes, _: list[bytes], random: Random) -> bytes:
    start, stop = _span(data, random)
    return data[:stop] + data[start:]


def _spliced(data: bytes, others: list[bytes], random: Random) -> bytes:
    other = random.choice(others)
    start, stop = _span(data, random)
    begin = random.randrange(len(other) + 1)
    return data[:start] + other[begin : begin + random.choice((4, 16, 64))] + data[stop:]


def _swapped(data: bytes, _: list[bytes], random: Random) -> bytes:
    a, b = sorted((_span(data, random), _span(data, random)))
    if a[1] > b[0]:
        return data
    return data[: a[0]] + data[b[0] : b[1]] + data[a[1] : b[0]] + data[a[0] : a[1]] + data[b[1] :]


#: Words and signs that mean something to one of the loaders.
_WORDS = [
    w.encode()
    for w in """__class__ __init__ __globals__ _ ~ | () [] . attr map select first last join format
    '%c' 95 lipsum cycler namespace joiner self caller loop {{ }} {% %} set import include with
    !!python/name: !!python/object/new: !apply: !new: !name: !ref _target_: &a *a <<: --- | > \\
    torch ops.aten .save getattr # torch.save self =
    \\x5f \\u005f eval( lambda: Symbol( ' " , :""".split()
]


def _word(data: bytes, _: list[bytes], random: Random) -> bytes:
    start, stop = _span(data, random)
    return data[:start] + random.choice(_WORDS) + data[random.choice((start, stop)) :]


class _Loaders:
    """The process that loads what was accepted."""

    def __init__(self, kind: str, folder: Path) -> None:
        python = os.environ.get("HFINSPECT_LOADERS_PYTHON", sys.executable)
        script = Path(__file__).with_name("in_loaders.py")
        self._process = subprocess.Popen(
            [python, "-W", "ignore", str(script), str(folder), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        )

    def sign(self, file: str) -> str:
        to: IO[str] | None = self._process.stdin
        of: IO[str] | None = self._process.stdout
        assert to is not None and of is not None
        to.write(f"{file}\n")
        to.flush()
        line = of.readline()
        if not line:
            raise RuntimeError(f"the loaders ended with {self._process.wait()}")
        return line.strip()

    def close(self) -> None:
        self._process.communicate()


def run(kind: str, seconds: float, seed: int = 0) -> Result:
    """Mutants of a kind for so long. Whatever the audit raises but its own errors is a crash."""
    _, file = KINDS[kind]
    made = loaded = 0
    ran: list[tuple[bytes, str]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        loaders = _Loaders(kind, folder)
        if kind in ("templates", "yaml", "joblib"):  # no weights: something to audit
            (folder / "config.json").write_text('{"model_type": "gpt2"}')
        seen = 0
        for data in seeds(kind):  # whether a sign is seen where there is one
            (folder / file).write_bytes(data)
            seen += bool(loaders.sign(file))
        until = time.monotonic() + seconds
        for mutant in mutants(kind, Random(f"{kind} {seed}")):
            if time.monotonic() > until:
                break
            made += 1
            (folder / file).write_bytes(mutant)
            if any(f.severity == "error" for f in hfinspect.audit(str(folder)).findings):
                continue
            loaded += 1
            if sign := loaders.sign(file):
                ran.append((mutant, sign))
        loaders.close()
    return Result(seen, made, loaded, ran)


def main() -> int:
    kind = sys.argv[1]
    seconds = float(sys.argv[2])
    result = run(kind, seconds, int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    for mutant, sign in result.ran[:20]:
        sys.stdout.write(f"RAN ({sign}): {mutant[:3000]!r}\n")
    sys.stdout.write(
        f"{kind}: {result.seen} samples ran; {result.made:,} mutants, {result.loaded:,} loaded, "
        f"{len(result.ran)} ran\n"
    )
    return 1 if result.ran or not result.seen else 0


if __name__ == "__main__":
    sys.exit(main())
