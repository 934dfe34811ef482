"""Modules that are alike are read once.

A mixture of experts has some 50,000 modules of a dozen kinds. What a method finds in a module
follows from what its tensors are called, from their dtypes and shapes, and at most from what the
tree promises for its weight; so one reading serves all modules that agree in these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from ...core.components import Role
from ...core.tensors import StoredTensor
from .decoding import Decoded, Holds, Module, Modules, Sheet

#: Writes to the sheet what one module holds.
ReadModule = Callable[[Module, Sheet], None]

#: Dtype, shape, elements and bytes of a stored tensor.
_KIND = itemgetter(slice(1, 5))


class _Meaning(NamedTuple):
    """A ``Decoded`` in any module: names without the module's. ``is_held`` says whether ``named``
    is a tensor of the module."""

    suffix: str
    named: str
    is_held: bool
    role: Role
    parameters: int | None
    holds: Holds
    bits: int | None


@dataclass
class _Reading:
    """What one module came out as, and how many others came out the same."""

    meanings: list[_Meaning]
    sums: Sheet
    repeats: int = 0


def read_alike(modules: Modules, sheet: Sheet, read: ReadModule, promised_for: str = "") -> None:
    """Every module by ``read``, which looks at names only to write them down. If it asks for the
    promise of a name, that is the one of the module's ``promised_for``.

    Modules with something to say of them by name (findings) are read one by one.
    """
    if sheet.tensors:  # what an earlier method has read of a module is no part of its key
        for module in modules.values():
            read(module, sheet)
        return
    known: dict[object, _Reading | None] = {}
    promised = sheet.promised
    for module in modules.values():
        name, tensors = module
        key = (*tensors, *map(_KIND, tensors.values()))
        if promised_for:
            key = (*key, promised(f"{name}.{promised_for}"))
        reading = known.get(key)
        if reading is not None and name:
            _repeat(reading, name, tensors, sheet.tensors)
            continue
        if name and key not in known:
            known[key] = _trial(module, sheet, read)
        read(module, sheet)
    for reading in known.values():
        if reading is not None:
            sheet.add_sums(reading.sums, reading.repeats)


def _repeat(
    reading: _Reading, module: str, tensors: Mapping[str, StoredTensor], into: dict[str, Decoded]
) -> None:
    """The meanings of a reading, for another module of that name and tensors."""
    reading.repeats += 1
    for suffix, named, is_held, role, parameters, holds, bits in reading.meanings:
        # The name of a tensor that is there need not be built, nor hashed again.
        full = tensors[named][0] if is_held else f"{module}.{named}"
        into[tensors[suffix][0]] = Decoded(full, role, parameters, holds, bits)


def _trial(module: Module, sheet: Sheet, read: ReadModule) -> _Reading | None:
    """The reading of a module in terms that fit any other, None where that cannot be."""
    trial = Sheet(sheet.promised, sheet.metadata)
    read(module, trial)
    if trial.findings or trial.has_unknown:
        return None
    prefix = f"{module.name}."
    suffixes = {tensor.name: suffix for suffix, tensor in module.tensors.items()}
    meanings = []
    for stored, (name, role, parameters, holds, bits) in trial.tensors.items():
        if stored not in suffixes or not name.startswith(prefix):
            return None
        named = name.removeprefix(prefix)
        meanings.append(
            _Meaning(
                suffixes[stored], named, named in module.tensors, role, parameters, holds, bits
            )
        )
    return _Reading(meanings, trial)
