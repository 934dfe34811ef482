"""Makes a wheel small: families that are data become one file (a build hook of hatchling).

Why, and what the file looks like: ``hfinspect/trees/trace_files.py``.
"""

from __future__ import annotations

import json
import lzma
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_ROOM = Path("hfinspect", "architectures")
#: What one block holds at most before it is compressed: read in some milliseconds.
_BLOCK = 600_000


class PackTraces(BuildHookInterface):  # type: ignore[misc]  # hatchling is there where it builds
    """Puts ``architectures/traced.pack`` into a wheel, which leaves the folder ``traced/`` out."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file to a temporary folder and name it to the builder.

        An editable install reads the folder.
        """
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        packed = Path(self._folder.name, "traced.pack")
        packed.write_bytes(pack(Path(self.root) / _ROOM / "traced"))
        build_data["force_include"][str(packed)] = str(_ROOM / packed.name)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder, and compress the wheel as well as it can be."""
        if version != "editable":
            self._folder.cleanup()
            compress(Path(artifact_path))


def compress(wheel: Path) -> None:
    """Write a wheel anew with the highest level; the builder takes the usual one."""
    smaller = wheel.with_suffix(".smaller")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(smaller, "w") as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED, 9)
    smaller.replace(wheel)


def pack(folder: Path) -> bytes:
    """All traces of a folder, those of one library next to each other."""
    traces = [(file.stem, json.loads(file.read_bytes())) for file in folder.glob("*.json")]
    traces.sort(key=lambda found: (found[1]["library"], found[1]["category"], found[0]))
    lines = [
        (trace["library"], name, f"{name}\t{json.dumps(trace, separators=(',', ':'))}\n".encode())
        for name, trace in traces
    ]
    heads, blocks = [], b""
    for _, of_library in groupby(lines, key=lambda line: line[0]):
        for names, joined in _blocks((name, line) for _, name, line in of_library):
            block = lzma.compress(joined, preset=9 | lzma.PRESET_EXTREME)
            heads.append([len(block), names])
            blocks += block
    return json.dumps(heads, separators=(",", ":")).encode() + b"\n" + blocks


def _blocks(lines: Iterable[tuple[str, bytes]]) -> Iterator[tuple[list[str], bytes]]:
    names: list[str] = []
    joined = b""
    for name, line in lines:
        if names and len(joined) + len(line) > _BLOCK:
            yield names, joined
            names, joined = [], b""
        names.append(name)
        joined += line
    yield names, joined
