"""The shipped schemas state the version that the results state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hfinspect.core.json_form import SCHEMA_VERSION

from ..schemas import FOLDER

SCHEMAS = sorted(FOLDER.glob("*.schema.json"))


def _consts(schema: object) -> Iterator[str]:
    """Every version that a schema fixes, at any depth."""
    if isinstance(schema, dict):
        version = schema.get("schema_version")
        if isinstance(version, dict) and "const" in version:
            yield version["const"]
        for value in schema.values():
            yield from _consts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _consts(value)


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_every_schema_states_the_one_version(path: Path) -> None:
    schema = json.loads(path.read_text())
    assert schema["title"].endswith(f", version {SCHEMA_VERSION}")
    assert set(_consts(schema)) <= {SCHEMA_VERSION}


def test_the_version_was_raised_once() -> None:
    assert SCHEMA_VERSION == "2.0"
    assert len(SCHEMAS) == 14
