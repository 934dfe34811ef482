"""Where families as data are kept: each a file of ``architectures/traced/``, in a wheel a line.

Traces repeat one another much. In a wheel, where each file is compressed by itself, they would take
twice the space: ``tests/packaging/pack_traces.py`` joins them into ``traced.lines`` when it is
built, a line ``name <tab> JSON`` for each.
"""

from __future__ import annotations

import pkgutil
from functools import cache

#: The folder of ``architectures/``, and the first part of the name of each family in it.
TRACED = "traced"
#: What a wheel has in place of the folder.
_LINES = f"{TRACED}.lines"


def names(room: str) -> list[str]:
    """``traced/<name>`` of each trace in the package ``room``, in order of their names."""
    from importlib.resources import files  # of no use for one model, and slow to import

    folder = files(room) / TRACED
    if folder.is_dir():
        found = [file.name.removesuffix(".json") for file in folder.iterdir()]
    else:
        found = [line.partition(b"\t")[0].decode() for line in _lines(room).splitlines()]
    return sorted(f"{TRACED}/{name}" for name in found)


def content(room: str, name: str) -> bytes:
    """The JSON of ``traced/<name>``. Raises FileNotFoundError."""
    try:
        found = pkgutil.get_data(room, f"{name}.json")
    except FileNotFoundError:
        return _line(room, name.removeprefix(f"{TRACED}/"))
    assert found is not None
    return found


def _line(room: str, name: str) -> bytes:
    begins = f"\n{name}\t".encode()
    _, found, rest = (b"\n" + _lines(room)).partition(begins)
    if not found:
        raise FileNotFoundError(name)
    return rest.partition(b"\n")[0]


@cache
def _lines(room: str) -> bytes:
    found = pkgutil.get_data(room, _LINES)
    assert found is not None
    return found
