"""Joins the families that are data into one file of a wheel (a build hook of hatchling).

Why and how it is read: ``hfinspect/trees/trace_files.py``.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_ROOM = Path("hfinspect", "architectures")


class PackTraces(BuildHookInterface):  # type: ignore[misc]  # hatchling is there where it builds
    """Puts ``architectures/traced.lines`` into a wheel, which leaves the folder ``traced/`` out."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the lines to a temporary file and name it to the builder.

        An editable install reads the folder.
        """
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        packed = Path(self._folder.name, "traced.lines")
        packed.write_bytes(lines(Path(self.root) / _ROOM / "traced"))
        build_data["force_include"][str(packed)] = str(_ROOM / packed.name)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary file."""
        if version != "editable":
            self._folder.cleanup()


def lines(folder: Path) -> bytes:
    """``name <tab> JSON`` of each trace in a folder, those of one library next to each other."""
    traces = [(file.stem, json.loads(file.read_bytes())) for file in folder.glob("*.json")]
    traces.sort(key=lambda found: (found[1]["library"], found[1]["category"], found[0]))
    joined = [f"{name}\t{json.dumps(trace, separators=(',', ':'))}\n" for name, trace in traces]
    return "".join(joined).encode()
