"""fixtures/oracle/gguf_types.json, packed and unpacked.

Of each case: the config, the key-values that matter, tensors (``blk.*.attn_k.weight BF16 64x256
0-8``: layers 0 to 8 have it), and for each recipe the types of all tensors in that order, as
``Q4_K*9 Q6_K*2``.
"""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from hfinspect.core.library_versions import TRANSFORMERS_RUN

RECORD = Path(__file__).parents[2] / "fixtures" / "oracle" / "gguf_types.json"


class Recorded(NamedTuple):
    """``tensors`` are (name, dtype of the converter's file, shape); ``types`` the types of them by
    recipe, or the error of llama-quantize."""

    config: dict[str, Any]
    keys: dict[str, Any]
    tensors: list[tuple[str, str, tuple[int, ...]]]
    types: dict[str, list[str] | str]


def packed(raw: Recorded) -> dict[str, Any]:
    """One case as it is kept."""
    order = sorted(range(len(raw.tensors)), key=lambda at: _place(raw.tensors[at]))
    alike = groupby((raw.tensors[at] for at in order), key=lambda t: _place(t)[:3])
    tensors = []
    for (name, dtype, shape), rows in alike:
        layers = [_place(tensor)[3] for tensor in rows]
        tensors.append(" ".join([name, dtype, "x".join(map(str, shape)), _ranges(layers)]).strip())
    types = {
        recipe: kinds if isinstance(kinds, str) else _runs([kinds[at] for at in order])
        for recipe, kinds in raw.types.items()
    }
    return {"config": raw.config, "keys": raw.keys, "tensors": tensors, "types": types}


def unpacked(kept: dict[str, Any]) -> Recorded:
    """The inverse, tensors in the kept order."""
    tensors = []
    for line in kept["tensors"]:
        name, dtype, sizes, *layers = line.split(" ")
        shape = tuple(int(size) for size in sizes.split("x"))
        numbers = [number for part in layers for number in _numbers(part)]
        names = [name.replace("*", str(number)) for number in numbers] or [name]
        tensors += [(own, dtype, shape) for own in names]
    types: dict[str, list[str] | str] = {}
    for recipe, text in kept["types"].items():
        runs = re.findall(r"(\w+)\*(\d+)", text)
        types[recipe] = [kind for kind, count in runs for _ in range(int(count))] or text
    return Recorded(kept["config"], kept["keys"], tensors, types)


def read() -> dict[str, Any]:
    """All cases by name, packed."""
    cases: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))["cases"]
    return cases


def write(cases: dict[str, Any]) -> None:
    """The record, one case a line."""
    lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(cases[n])}" for n in sorted(cases))
    head = f'"llama.cpp": "0c1e57098", "transformers": "{TRANSFORMERS_RUN}"'
    RECORD.write_text(f'{{{head}, "cases": {{\n{lines}\n}}}}\n', encoding="utf-8")


def _place(tensor: tuple[str, str, tuple[int, ...]]) -> tuple[str, str, tuple[int, ...], int]:
    name, dtype, shape = tensor
    match = re.match(r"((?:[av]\.)?blk\.)(\d+)(\..*)", name)
    if match is None:
        return name, dtype, tuple(shape), -1
    return f"{match[1]}*{match[3]}", dtype, tuple(shape), int(match[2])


def _runs(kinds: list[str]) -> str:
    return " ".join(f"{kind}*{len(list(run))}" for kind, run in groupby(kinds))


def _ranges(layers: list[int]) -> str:
    ranges: list[list[int]] = []
    for layer in layers:
        if ranges and layer == ranges[-1][1] + 1:
            ranges[-1][1] = layer
        else:
            ranges.append([layer, layer])
    return " ".join(f"{a}-{b}" for a, b in ranges if a >= 0)


def _numbers(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last) + 1)
