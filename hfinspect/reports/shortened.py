"""JSON that fits: a form whose longest lists and texts are cut, and the names of what was cut."""

import json
from collections.abc import Mapping
from typing import Any

#: Entries of a list and characters of a text that stay, tried from the left.
_TRIES = ((2000, 20_000), (400, 4000), (100, 1000), (30, 400), (8, 160), (3, 80))
#: Levels of a form; what lies deeper is left out with its parent.
_DEPTH = 12


def shortened(form: Mapping[str, Any], limit: int) -> tuple[str, tuple[str, ...]]:
    """The form as JSON for a page, below ``limit`` bytes, and the keys of what was left out: long
    lists end early, long texts are cut. ASCII alone, ``<`` escaped."""
    text = _written(form)
    if len(text) <= limit:
        return text, ()
    for entries, characters in _TRIES:
        left: dict[str, None] = {}
        text = _written(_cut(form, "", entries, characters, left))
        if len(text) <= limit:
            return text, tuple(left)
    return _written(dict.fromkeys(list(form)[:100])), tuple(form)


def _written(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, default=str)
    return text.replace("<", "\\u003c")


def _cut(value: Any, path: str, entries: int, characters: int, left: dict[str, None]) -> Any:
    if isinstance(value, str) and len(value) > characters:
        left.setdefault(path)
        return value[:characters] + "…"
    if path.count(".") > _DEPTH and isinstance(value, (dict, list, tuple)):
        left.setdefault(path)
        return None
    if isinstance(value, Mapping):
        if len(value) > entries and path:
            left.setdefault(path)
            value = dict(list(value.items())[:entries])
        return {
            key[:200]: _cut(inner, f"{path}.{key[:60]}".lstrip("."), entries, characters, left)
            for key, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        if len(value) > entries:
            left.setdefault(path)
            value = value[:entries]
        return [_cut(inner, path, entries, characters, left) for inner in value]
    return value
