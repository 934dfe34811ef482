"""The JSON schemas that are shipped, read and checked once: that takes longer than using them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import jsonschema

import hfinspect

FOLDER = Path(hfinspect.__file__).parent / "schemas"


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """``inspection``, ``audit``, ``comparison``, ``explanation``, ``tree`` or ``scan-row``."""
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def conforms(document: object, name: str = "inspection") -> None:
    """Raises jsonschema.ValidationError if the document is not as the schema says."""
    validator(name).validate(document)
