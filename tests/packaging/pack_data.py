"""Makes a wheel small (a build hook of hatchling).

Families that are data become one file: ``hfinspect/trees/trace_files.py`` says why, and what it
looks like. Three large tables become xz streams: ``hfinspect/core/data_files.py``.
"""

from __future__ import annotations

import json
import lzma
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_ROOM = Path("hfinspect", "architectures")
#: Tables that a wheel has as xz streams; it leaves them out as they are (pyproject.toml).
_TABLES = (
    Path("hfinspect/analysis/gguf/llama_cpp_contract.json"),
    Path("hfinspect/core/config_fields.json"),
    Path("hfinspect/sizing/activation_rules.json"),
)


#: Bytes of a block before it is packed: to read one model, one block is unpacked (some 5 ms).
_BLOCK = 128 * 1024


class PackData(BuildHookInterface):  # type: ignore[misc]  # hatchling is there where it builds
    """Puts ``architectures/traced.pack`` and packed tables into a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files to a temporary folder and name them to the builder.

        An editable install reads what is in the checkout.
        """
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        traces = pack(Path(self.root) / _ROOM / "traced")
        packed = {_ROOM / "traced.pack": traces}
        for table in _TABLES:
            values = json.loads((Path(self.root) / table).read_bytes())
            packed[table.with_name(f"{table.name}.xz")] = _xz(_json(values))
        for number, (place, content) in enumerate(packed.items()):
            file = Path(self._folder.name, str(number))
            file.write_bytes(content)
            build_data["force_include"][str(file)] = str(place)

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
    """All traces of a folder, in blocks: what is alike stands together."""
    traces = [(file.stem, json.loads(file.read_bytes())) for file in folder.glob("*.json")]
    traces.sort(key=lambda pair: (pair[1]["library"], pair[1]["category"], pair[0]))
    lines = [(name, name.encode() + b"\t" + _json(trace) + b"\n") for name, trace in traces]
    heads = []
    blocks = b""
    for some in _blocks(lines):
        block = _xz(b"".join(line for _, line in some))
        heads.append([len(block), [name for name, _ in some]])
        blocks += block
    return _json(heads) + b"\n" + blocks


def _blocks(lines: list[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Runs of lines of at most ``_BLOCK`` bytes; a longer line stands alone."""
    some: list[tuple[str, bytes]] = []
    size = 0
    for name, line in lines:
        if some and size + len(line) > _BLOCK:
            yield some
            some = []
            size = 0
        some.append((name, line))
        size += len(line)
    yield some


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _xz(content: bytes) -> bytes:
    # JSON has no units of four bytes: no bits of a position (pb) are of use.
    text = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "pb": 0}
    return lzma.compress(content, filters=[text])
