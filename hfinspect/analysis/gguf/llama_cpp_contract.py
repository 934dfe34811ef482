"""What llama.cpp's loader of an architecture asks of a file, next to what the file has.

Source: ``load_hparams``, ``load_arch_hparams`` and ``load_arch_tensors`` in src/llama-model.cpp and
src/models/*.cpp of llama.cpp 0.5.0 (in llama_cpp_python 0.3.36), which
tests/sizing/record_llama_cpp_contract.py reads into ``llama_cpp_contract.json``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Any, Final, NamedTuple

from ...core import data_files
from ...core.records import dataclass
from .key_expressions import Bindings, KeyExpressions
from .key_numbers import MAX_LAYERS

#: ContractTensors that are looked at; no architecture has as many.
_MAX_ROWS: Final = 500_000
#: What the loader takes next to every weight that it has made: scales of NVFP4 and their kin.
_SCALES: Final = (".scale", ".input_scale")


class OtherShape(NamedTuple):
    """Row-major shapes: what the file has, what the loader makes of the key-values, and the keys
    of the file that it reads for the sizes that differ."""

    in_file: tuple[int, ...]
    required: tuple[int, ...]
    keys: frozenset[str]


@dataclass()
class Contract:
    """Where a file differs from what the loader asks.

    Fields:
        keys: required ones that are missing
        uneven: keys that list another number of layers -> how many they list
        refused: keys whose values the loader does not take together, one tuple a condition
        missing: required tensors
        reshaped: tensors of another shape
        surplus: tensors that the loader does not create
        sound: keys of sizes that agree
    """

    keys: list[str] = field(default_factory=list)
    uneven: dict[str, int] = field(default_factory=dict)
    refused: list[tuple[str, ...]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    reshaped: dict[str, OtherShape] = field(default_factory=dict)
    surplus: list[str] = field(default_factory=list)
    sound: frozenset[str] = frozenset()


@cache
def _table() -> dict[str, Any]:
    return data_files.read(__package__, "llama_cpp_contract.json")


def release() -> str:
    """The version of llama.cpp that the table is of."""
    version: str = _table()["llama.cpp"]
    return version.partition(",")[0]


def is_known(architecture: str) -> bool:
    return architecture in _table()["architectures"]


def tokenizer_names(kind: str) -> frozenset[str]:
    """``models`` or ``pre``: what the loader knows as tokenizer.ggml.model and .pre."""
    return frozenset(_table()["tokenizers"][kind])


def contract_of(
    architecture: str, metadata: Mapping[str, object], shapes: Mapping[str, Sequence[int]]
) -> Contract:
    """What differs; ``architecture`` is one that ``is_known``. Shapes are row-major, by tensor.

    Where keys are missing or refused, tensors are not looked at: their sizes depend on them.
    """
    table = _table()
    table_of = table["architectures"][architecture]
    values = KeyExpressions(table["nodes"], architecture, metadata, shapes)
    contract = Contract()
    for name, when, loops in table_of["keys"]:
        full = values.full(name)
        if full in metadata or full in contract.keys:
            continue
        if any(values.truth(when, bound) for bound in _each(values, loops)):
            contract.keys.append(full)
    if contract.keys:
        return contract
    for when, loops in table_of["refusals"]:
        if any(values.truth(when, bound) for bound in _each(values, loops)):
            contract.refused.append(tuple(sorted(values.keys_of(when))))
    contract.uneven = dict(values.uneven)
    if contract.refused or contract.uneven:
        return contract
    _ContractTensors(values, shapes, contract).compare(table_of["tensors"])
    contract.uneven = dict(values.uneven)
    return contract


def _each(values: KeyExpressions, loops: Sequence[Sequence[Any]]) -> Iterator[Bindings]:
    """The numbers that the loops around something go through."""
    bindings: list[Bindings] = [{}]
    for var, start, end in loops:
        further: list[Bindings] = []
        for bound in bindings:
            first = values.value(start, bound)
            last = values.value(end, bound)
            if isinstance(first, int) and isinstance(last, int):
                numbers = range(first, min(last, MAX_LAYERS + 1))
                further += [{**bound, var: number} for number in numbers]
        bindings = further[:_MAX_ROWS]
    yield from bindings


class _ContractTensors:
    """The tensors of a file next to those that its loader creates."""

    def __init__(
        self,
        values: KeyExpressions,
        shapes: Mapping[str, Sequence[int]],
        contract: Contract,
    ) -> None:
        self._values = values
        self._shapes = shapes
        self._contract = contract
        self._created: set[str] = set()
        self._uncertain = False

    def compare(self, rows: Sequence[Sequence[Any] | None]) -> None:
        stems: set[str] = set()
        for row in rows:
            if row is None:
                continue
            stems.add(row[0])
            for bound in _each(self._values, row[-1]):
                self._one(row, bound)
        left_out = self._left_out()
        if None in rows:  # of a name that only the loader knows
            return
        for name in self._shapes:
            if name in self._created:
                continue
            weight = _weight_of_scale(name)
            if weight and weight not in left_out and _pattern_of(weight) in stems:
                self._check_scale(name)
                continue
            if not (self._uncertain and _pattern_of(name) in stems):
                self._contract.surplus.append(name)

    def _one(self, row: Sequence[Any], bound: Bindings) -> None:
        pattern, index, sizes, when, required, any_shape, _ = row
        is_created = self._values.truth(when, bound)
        if is_created is False:
            return
        name = self._values.name(pattern, index, bound)
        if name is None:
            self._uncertain = True
            return
        self._created.add(name)
        if is_created is None:
            return
        if name not in self._shapes:
            is_required = self._values.truth(required, bound)
            if is_required and name not in self._contract.missing:
                self._contract.missing.append(name)
            return
        if sizes is not None and name not in self._contract.reshaped:
            self._compare_shape(name, sizes, bool(self._values.truth(any_shape, bound)), bound)

    def _compare_shape(
        self, name: str, sizes: Sequence[int], any_shape: bool, bound: Bindings
    ) -> None:
        required = [self._values.value(size, bound) for size in sizes]
        in_file = tuple(reversed(self._shapes[name]))
        if not all(isinstance(size, int) for size in required):
            return
        numbers = [int(size) for size in required if size is not None]
        if any_shape:
            if math.prod(numbers) != math.prod(in_file):
                keys = self._keys_of(sizes)
                self._contract.reshaped[name] = _other(in_file, numbers, keys)
            return
        ranks = max(len(numbers), len(in_file))
        full = [*numbers, *[1] * (ranks - len(numbers))]
        have = [*in_file, *[1] * (ranks - len(in_file))]
        if full == have:
            self._contract.sound |= self._keys_of(sizes)
            return
        differing = [
            size for size, number, there in zip(sizes, full, have, strict=False) if number != there
        ]
        agreeing = [size for size in sizes if size not in differing]
        self._contract.sound |= self._keys_of(agreeing)
        self._contract.reshaped[name] = _other(in_file, numbers, self._keys_of(differing))

    def _left_out(self) -> set[str]:
        """Optional tensors that the file does not have."""
        return self._created - self._shapes.keys()

    def _check_scale(self, name: str) -> None:
        """One number, or one for each expert."""
        experts = self._values.number(".expert_count") or 0
        required = experts if "_exps." in name else 1
        if math.prod(self._shapes[name]) != required:
            shape = tuple(self._shapes[name])
            self._contract.reshaped[name] = OtherShape(shape, (required,), frozenset())

    def _keys_of(self, sizes: Sequence[int]) -> frozenset[str]:
        return frozenset().union(*(self._values.keys_of(size) for size in sizes))


def _other(in_file: Sequence[int], required: Sequence[int], keys: frozenset[str]) -> OtherShape:
    return OtherShape(tuple(reversed(in_file)), tuple(reversed(required)), keys)


def _pattern_of(name: str) -> str:
    return ".".join("%d" if part.isdecimal() else part for part in name.split("."))


def _weight_of_scale(name: str) -> str | None:
    """The weight that a scale is of; None of what is no scale."""
    for ending in _SCALES:
        stem = name.removesuffix(ending)
        if stem != name:
            return f"{stem}.weight"
    return None
