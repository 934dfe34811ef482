"""fixtures/oracle/tool_layouts.json, packed and unpacked.

Of each file: what its config has otherwise than the model's (``config``; ``without`` are keys that
it lacks), and its tensors, ``model.layers.*.mlp.up_proj.qweight I32 32x512 0-1`` for one of layers
0 and 1.
"""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parents[2] / "fixtures" / "oracle" / "tool_layouts.json"
_LAYER = re.compile(r"(?<=\.layers\.)\d+")

#: Name -> (dtype as safetensors spells it, shape).
Header = dict[str, tuple[str, tuple[int, ...]]]


def header_of(folder: Path) -> Header:
    """All tensors of the files in a folder."""
    tensors: Header = {}
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        header.pop("__metadata__", None)
        tensors |= {name: (one["dtype"], tuple(one["shape"])) for name, one in header.items()}
    return tensors


def packed(model: dict[str, Any], config: dict[str, Any], header: Header) -> dict[str, Any]:
    changed = {key: value for key, value in config.items() if model.get(key, ...) != value}
    rows = sorted(
        (_LAYER.sub("*", name), dtype, "x".join(map(str, shape)), int(match[0]) if match else -1)
        for name, (dtype, shape) in header.items()
        for match in [_LAYER.search(name)]
    )
    lines = []
    for (name, dtype, shape), alike in groupby(rows, key=lambda row: row[:3]):
        layers = [str(row[3]) for row in alike if row[3] >= 0]
        lines.append(" ".join([name, dtype, shape or "-", ",".join(layers)]).strip())
    return {"config": changed, "without": sorted(model.keys() - config.keys()), "tensors": lines}


def unpacked(model: dict[str, Any], kept: dict[str, Any]) -> tuple[dict[str, Any], Header]:
    """The config and the tensors of a file."""
    config = {key: value for key, value in model.items() if key not in kept["without"]}
    tensors: Header = {}
    for line in kept["tensors"]:
        name, dtype, sizes, *layers = line.split(" ")
        shape = () if sizes == "-" else tuple(map(int, sizes.split("x")))
        for layer in layers[0].split(",") if layers else [""]:
            tensors[name.replace("*", layer, 1)] = dtype, shape
    return {**config, **kept["config"]}, tensors


def write(record: dict[str, Any]) -> None:
    """One model or file a line."""
    parts = [f'"tools": {json.dumps(record["tools"], sort_keys=True)}']
    for part in ("models", "files"):
        rows = sorted(record[part].items())
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(kept)}" for name, kept in rows)
        parts.append(f'"{part}": {{\n{lines}\n}}')
    RECORD.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
