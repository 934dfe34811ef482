"""The gallery: one page and one picture for each of some well-known models, from their configs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hfinspect

from ..cli.program import ROOT
from ..cli.program import hfinspect as program

_HEAD = """# Gallery

Pages of {count} known models. Each page is what `hfinspect MODEL --output model.html` writes from a
config.json: treemap, layers, derivation, memory and tensors.

| model | parameters | at 16 bits | architecture |
| --- | ---: | ---: | --- |
"""


def models() -> dict[str, Mapping[str, Any]]:
    """Name -> config, the smallest first."""
    configs = {
        path.parent.name: json.loads(path.read_text())
        for path in (ROOT / "fixtures" / "models").glob("*/config.json")
        if path.parent.name != "bert-one-layer"
    }
    configs |= json.loads((ROOT / "docs" / "gallery" / "models.json").read_text())
    return dict(sorted(configs.items(), key=lambda item: hfinspect.predict(item[1]).parameters))


def write(folder: Path, known: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """The pages, the pictures and the index below ``folder``; of all models, or of ``known``."""
    folder.mkdir(exist_ok=True)
    known = models() if known is None else known
    rows = []
    pictures = []
    for name, config in known.items():
        source = folder / name / "config.json"
        source.parent.mkdir()
        source.write_text(json.dumps(dict(config)))
        for ending in ("html", "svg"):
            result = program(name, "--output", f"{name}.{ending}", cwd=folder)
            if result.code:
                raise RuntimeError(f"{name}: {result.err}")
        count = hfinspect.predict(config)
        rows.append(
            f"| [{name}]({name}.html) | {count.parameters:,} "
            f"| {2 * count.parameters / 1e9:,.1f} GB | {count.architecture} |"
        )
        pictures.append(f"## {name}\n\n[![{name}]({name}.svg)]({name}.html)")
    text = _HEAD.format(count=len(known)) + "\n".join(rows) + "\n\n" + "\n\n".join(pictures)
    (folder / "index.md").write_text(text + "\n")
