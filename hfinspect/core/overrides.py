"""``--set key=value``: a config with some keys changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import UsageError


def applied(config: Mapping[str, Any], overrides: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """A copy of ``config`` with dotted keys replaced; ``config`` itself is left alone.

    Raises UsageError where a dotted key runs through something that is no object.
    """
    if not overrides:
        return config
    result = dict(config)
    for dotted, value in overrides.items():
        *path, last = dotted.split(".")
        place = result
        for key in path:
            inner = place.get(key)
            if inner is not None and not isinstance(inner, Mapping):
                raise UsageError(f"override {dotted}", f"runs through {key}, which is no object")
            place[key] = dict(inner or {})
            place = place[key]
        place[last] = value
    return result


def parse_overrides(assignments: Iterable[str]) -> dict[str, Any]:
    """``["num_hidden_layers=1", "text_config.vocab_size=30000"]`` as a mapping.

    Values are JSON where they parse as JSON, else strings. Raises UsageError.
    """
    overrides: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not all(key.split(".")):
            raise UsageError(f"override {text!r}", "is malformed", expected="key=value")
        try:
            overrides[key] = json.loads(value)
        except (ValueError, RecursionError):
            overrides[key] = value
    return overrides
