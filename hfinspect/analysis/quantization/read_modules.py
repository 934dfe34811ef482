"""Modules that are alike are read once.

A mixture of experts has some 50,000 modules of a dozen kinds. What a method finds in a module
follows from what its tensors are called, from their dtypes and shapes, and at most from what the
tree predicts for its weight; so one reading serves all modules that agree in these.
"""

from collections.abc import Callable
from dataclasses import field
from itertools import repeat
from typing import Any, NamedTuple

from ...core.records import dataclass
from .decoding import Decoded, Modules, Sheet, StoredModule

#: Writes to the sheet what one module holds.
ReadModule = Callable[[StoredModule, Sheet], None]


class _RelativeMeaning(NamedTuple):
    """A ``Decoded`` in any module: of the tensor at ``at`` in its entry, standing for what the
    module calls ``suffix``, which is at ``suffix_at`` if it is there."""

    at: int
    suffix: str
    suffix_at: int | None
    rest: tuple[object, ...]


@dataclass()
class _ModuleReading:
    """What one module came out as, and the others that are like it."""

    meanings: list[_RelativeMeaning]
    sums: Sheet
    alike: list[tuple[str, list[Any]]] = field(default_factory=list)


def read_modules(modules: Modules, sheet: Sheet, read: ReadModule, predicted_for: str = "") -> None:
    """Every module by ``read``, which looks at names only to write them down. If it needs the
    prediction of a name, that is the one of the module's ``predicted_for``.

    Modules with something to say of them by name (findings) are read one by one.
    """
    if sheet.tensors:  # what an earlier method has read of a module is no part of its key
        for module in modules.values():
            read(module, sheet)
        return
    known: dict[object, _ModuleReading | None] = {}
    predicted = sheet.predicted
    for name, entry in modules.entries.items():
        key: object = tuple(entry[::2])
        if predicted_for:
            key = (key, predicted(f"{name}.{predicted_for}"))
        reading = known.get(key)
        if reading is not None and name:
            reading.alike.append((name, entry))
            continue
        module = modules[name]
        if name and key not in known:
            known[key] = _trial(module, entry, sheet, read)
        read(module, sheet)
    for reading in known.values():
        if reading is not None:
            sheet.add_sums(reading.sums, len(reading.alike))
            _repeat(reading, sheet.tensors)


def _repeat(reading: _ModuleReading, into: dict[str, Decoded]) -> None:
    """The meanings of a reading for all modules that are alike, each for all of them in one go."""
    for at, suffix, suffix_at, rest in reading.meanings:
        names = [entry[at][0] for _, entry in reading.alike]
        if suffix_at == at:
            full = names
        elif suffix_at is not None:  # the name of a tensor that is there need not be built
            full = [entry[suffix_at][0] for _, entry in reading.alike]
        else:
            full = [f"{name}.{suffix}" for name, _ in reading.alike]
        columns = zip(full, *map(repeat, rest))  # noqa: B905 - repeat
        into.update(zip(names, map(tuple.__new__, repeat(Decoded), columns), strict=False))


def _trial(
    module: StoredModule, entry: list[Any], sheet: Sheet, read: ReadModule
) -> _ModuleReading | None:
    """The reading of a module in terms that fit any other, None where that cannot be."""
    trial = Sheet(sheet.predicted, sheet.metadata, sheet.table)
    read(module, trial)
    if trial.findings or trial.has_unknown:
        return None
    prefix = f"{module.name}."
    places = {entry[at].name: at for at in range(1, len(entry), 2)}
    if len(places) < len(entry) // 2:  # a name in two shards
        return None
    meanings = []
    for stored, (name, *rest) in trial.tensors.items():
        if stored not in places or not name.startswith(prefix):
            return None
        meanings.append(
            _RelativeMeaning(
                places[stored], name.removeprefix(prefix), places.get(name), tuple(rest)
            )
        )
    return _ModuleReading(meanings, trial)
