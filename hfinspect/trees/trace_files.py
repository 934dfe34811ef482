"""Where families as data are kept: each a file of ``architectures/traced/``, in a wheel all in one.

Traces repeat one another much. In a wheel, where each file is compressed by itself, they would take
three times the space: ``tests/packaging/pack_data.py`` joins them into ``traced.pack`` when it is
built. Its first line is JSON, a ``[length, names]`` for each block; the blocks follow. A block is
an xz stream of at most some hundred kB of traces, each of them ``name <tab> JSON`` in a line: one
model costs one block.
"""

from __future__ import annotations

import json
import pkgutil
from functools import cache

from ..core.data_files import unpacked

#: The folder of ``architectures/``, and the first part of the name of each family in it.
TRACED = "traced"
#: What a wheel has in place of the folder.
_PACK = f"{TRACED}.pack"


def names(room: str) -> list[str]:
    """``traced/<name>`` of each trace in the package ``room``, in order of their names."""
    from importlib.resources import files  # of no use for one model, and slow to import

    folder = files(room) / TRACED
    if folder.is_dir():
        traces = [file.name.removesuffix(".json") for file in folder.iterdir()]
    else:
        traces = list(_blocks(room))
    return sorted(f"{TRACED}/{name}" for name in traces)


def content(room: str, name: str) -> bytes:
    """The JSON of ``traced/<name>``. Raises FileNotFoundError, and HfinspectError where this Python
    cannot read what a wheel has."""
    try:
        data = pkgutil.get_data(room, f"{name}.json")
    except FileNotFoundError:
        return _packed(room, name.removeprefix(f"{TRACED}/"))
    assert data is not None
    return data


def _packed(room: str, name: str) -> bytes:
    block = _blocks(room).get(name)
    if block is None:
        raise FileNotFoundError(name)
    lines = b"\n" + unpacked(block, name)
    _, _, rest = lines.partition(f"\n{name}\t".encode())
    return rest.partition(b"\n")[0]


@cache
def _blocks(room: str) -> dict[str, bytes]:
    """The name of each trace in a wheel, and the block that holds it."""
    packed = pkgutil.get_data(room, _PACK)
    assert packed is not None
    first, _, rest = packed.partition(b"\n")
    block_of: dict[str, bytes] = {}
    for length, traces in json.loads(first):
        block_of |= dict.fromkeys(traces, rest[:length])
        rest = rest[length:]
    return block_of
