"""Reference pages: the commands from the program itself, the JSON forms from their schemas."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from hfinspect.cli import app

from .. import catalog_tables
from ..cli.program import ROOT
from ..cli.program import hfinspect as program

_SCHEMAS = ROOT / "hfinspect" / "schemas"
_FAMILIES = """How each family of [the catalog](../catalog.md) is known. *Guarded keys*: a trace
refuses a config that has another value there than was recorded."""
_FORMS = """`--format json` and `to_dict()` give these forms. `schema_version` changes when a
key is renamed or removed, or means something else; new keys may come at any time."""


def write(folder: Path) -> None:
    folder.mkdir()
    (folder / "cli.md").write_text(commands())
    (folder / "json.md").write_text(schemas())
    (folder / "families.md").write_text(
        f"# Families\n\n{_FAMILIES}\n\n{catalog_tables.families()}\n"
    )
    for path in _SCHEMAS.glob("*.json"):
        shutil.copy(path, folder / path.name)


# ---- commands


def commands() -> str:
    """What ``--help`` of the program and of every command prints."""
    group = typer.main.get_command(app.make_app())
    assert isinstance(group, typer.core.TyperGroup)
    parts = ["# Commands", _help()]
    for name in group.commands:
        parts += [f"## hfinspect {name}", _help(name)]
    return "\n\n".join(parts) + "\n"


def _help(*words: str) -> str:
    printed = program(*words, "--help", env={"COLUMNS": "88"}).out
    return f"```text\n{printed.strip()}\n```"


# ---- JSON


def schemas() -> str:
    """The forms of ``--format json``, each with its first level of keys."""
    parts = ["# JSON", _FORMS]
    for path in sorted(_SCHEMAS.glob("*.json")):
        parts += _schema(path)
    return "\n\n".join(parts) + "\n"


def _schema(path: Path) -> Iterator[str]:
    schema = json.loads(path.read_text())
    yield f"## {schema.get('title', path.name)}"
    if schema.get("description"):
        yield schema["description"]
    yield f"[{path.name}]({path.name})"
    keys = schema.get("properties") or {}
    if keys:
        rows = "\n".join(f"| `{key}` | {_cell(_meaning(value))} |" for key, value in keys.items())
        yield f"| key | |\n| --- | --- |\n{rows}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _meaning(value: dict[str, Any]) -> str:
    kind = value.get("type") or value.get("$ref", "").rpartition("/")[2]
    kinds = kind if isinstance(kind, str) else " or ".join(kind)
    return ": ".join(part for part in (kinds, value.get("description", "")) if part)
