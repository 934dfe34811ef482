"""The tables of docs/catalog.md that say how each family is known, and what stays out."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from hfinspect.trees import catalog
from hfinspect.trees.trace_files import TRACED as TRACED_NAMES

ROOT = Path(__file__).resolve().parents[1]
ORACLE = ROOT / "fixtures" / "oracle"
TRACED = ROOT / "hfinspect" / "architectures"


def families() -> str:
    """A row a family: how it is known, who judges it, and what it refuses."""
    lines = [
        "| model type | classes | known by | judge | recordings | guarded keys |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for family in catalog.families():
        traced = family.file.startswith(TRACED_NAMES)
        types = ", ".join(family.model_types) or _named(family)
        count = _recordings().get(family.file, 0)
        known = "trace" if traced else "written"
        judge = family.source if count else "published files and numbers"
        keys = _guarded(family.file) if traced else ""
        lines.append(
            f"| {types} | {len(family.classes)} | {known} | {judge} | {count or ''} | {keys} |"
        )
    return "\n".join(lines)


def _named(family: catalog.Family) -> str:
    """Of a family without model types: its class, or the file of timm's architectures."""
    return family.file.rpartition("/")[2] if family.source == "timm" else family.default


def _guarded(file: str) -> str:
    """The keys that have to be what was recorded, the least that a size may be not counted."""
    trace: dict[str, Any] = json.loads((TRACED / f"{file}.json").read_text())
    keys = {
        key
        for guard in trace["guards"]
        for key, rule in guard.items()
        if set(rule) - {"least"} and not key.endswith("model_type")
    }
    shown = sorted(keys)
    more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
    return ", ".join(f"`{key}`" for key in shown[:8]) + more


@cache
def _recordings() -> dict[str, int]:
    """Family file -> how many recordings judge it."""
    counts: dict[str, int] = {}
    for path in (ORACLE / "recorded").glob("*.json"):
        counts[path.stem] = len(json.loads(path.read_text()))
    for path in (ORACLE / "traced").glob("*.json"):
        counts[f"traced/{path.stem}"] = len(json.loads(path.read_text())["recordings"])
    return counts


def left_out() -> str:
    """Classes that a recorder tried and did not write, with its reason."""
    path = ORACLE / "left_out.json"
    reasons = json.loads(path.read_text()) if path.exists() else {}
    lines = ["| library | model type | class | why |", "| --- | --- | --- | --- |"]
    for library, rows in reasons.items():
        for place, why in rows.items():
            kind, _, name = place.partition(" ")
            if catalog.find_class(name) is None:
                text = " ".join(why.split()).replace("|", "/")[:110]
                lines.append(f"| {library} | {kind} | {name} | {text} |")
    return "\n".join(lines)
