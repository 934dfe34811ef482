"""Reading fixtures/oracle/modules: what transformers' own modules say of each tensor of a class.

A file holds classes one after the other::

    @ bert BertForMaskedLM                  model_type, class
    embeddings.LayerNorm.weight 768 F32 p norm 1 768
    @ bert BertModel < BertForMaskedLM -bert.
    ~ cls.predictions.bias

A tensor's line has the first name of those that differ in numbers only, its shape, dtype, ``p`` or
``b`` (parameter or buffer), the component by ``module_kinds`` or ``?``, how many tensors there are
and how many elements they have together (nothing where it is one).  ``< OTHER -prefix`` (or
``+prefix``) starts from the lines of another class without (or with) that prefix; ``~`` takes a
line away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from math import prod
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "oracle" / "modules"


class Row(NamedTuple):
    """Tensors whose names differ in numbers only."""

    shape: tuple[int, ...]
    dtype: str
    is_parameter: bool
    kind: str | None
    tensors: int
    elements: int


Rows = dict[str, Row]


class RealClass(NamedTuple):
    """A class of transformers at a small config."""

    model_type: str
    name: str
    rows: Rows


@cache
def real_classes() -> tuple[RealClass, ...]:
    """All recorded classes."""
    classes: list[RealClass] = []
    for path in sorted(FOLDER.glob("*.txt")):
        known: dict[tuple[str, str], Rows] = {}
        for line in path.read_text().splitlines():
            if line.startswith("@ "):
                _, model_type, name, *base = line.split()
                rows = dict(_moved(known[model_type, base[1]], base[2])) if base else {}
                known[model_type, name] = rows
                classes.append(RealClass(model_type, name, rows))
            elif line.startswith("~ "):
                del rows[line[2:]]
            else:
                tensor, row = _row(line)
                rows[tensor] = row
    return tuple(classes)


def _row(line: str) -> tuple[str, Row]:
    name, dims, dtype, role, kind, *counted = line.split(" ")
    shape = tuple(map(int, dims.split("x"))) if dims != "scalar" else ()
    count, elements = map(int, counted) if counted else (1, prod(shape))
    return name, Row(shape, dtype, role == "p", None if kind == "?" else kind, count, elements)


def _line(name: str, row: Row) -> str:
    dims = "x".join(map(str, row.shape)) or "scalar"
    role = "p" if row.is_parameter else "b"
    line = f"{name} {dims} {row.dtype} {role} {row.kind or '?'}"
    known = row.tensors == 1 and row.elements == prod(row.shape)
    return line if known else f"{line} {row.tensors} {row.elements}"


def _moved(rows: Mapping[str, Row], prefix: str) -> Iterator[tuple[str, Row]]:
    sign = prefix[0]
    text = prefix[1:]
    for name, row in rows.items():
        if sign == "+":
            yield text + name, row
        else:
            yield name.removeprefix(text), row


def write(classes: Iterable[RealClass]) -> None:
    """Replace the fixtures: one file for each first letter."""
    texts: dict[str, list[str]] = {}
    types: dict[str, list[RealClass]] = {}
    for one in sorted(classes):
        types.setdefault(one.model_type, []).append(one)
    for model_type, members in types.items():
        lines = texts.setdefault(model_type[0].lower(), [])
        done: list[RealClass] = []
        for one in sorted(members, key=lambda one: (-len(one.rows), one.name)):
            lines += _shortest(one, done)
            done.append(one)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob("*.txt"):
        path.unlink()
    for letter, lines in texts.items():
        (FOLDER / f"{letter}.txt").write_text("\n".join(lines) + "\n")


def _shortest(one: RealClass, done: Iterable[RealClass]) -> list[str]:
    """A class's lines, by the class before it that leaves least to say."""
    head = f"@ {one.model_type} {one.name}"
    best = [head, *(_line(*item) for item in one.rows.items())]
    for base in done:
        for prefix in _prefixes(one.rows, base.rows):
            start = dict(_moved(base.rows, prefix))
            lines = [f"{head} < {base.name} {prefix}"]
            lines += [f"~ {name}" for name in start if name not in one.rows]
            lines += [_line(n, row) for n, row in one.rows.items() if start.get(n) != row]
            best = min(best, lines, key=len)
    return best


def _prefixes(rows: Rows, base: Rows) -> set[str]:
    firsts = {f"-{name.partition('.')[0]}." for name in base if "." in name}
    return firsts | {f"+{name.partition('.')[0]}." for name in rows if "." in name}
