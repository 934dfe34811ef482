"""One object of a config that a class reads, and what is said of a value in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...core.choices import Severity
from ...core.config_keys import keys_of
from ...core.text import clean
from ...core.wholeness import Problem
from .loaders_read import BOTH

#: Characters of a value that a text repeats.
_SHOWN: Final = 40
#: Characters of a key.
_KEY: Final = 120


class ConfigSection(NamedTuple):
    """One object of a config that a class reads.

    ``path`` stands in front of its keys (``text_config.``), ``kind`` is the model type whose class
    reads it. ``loaders`` are those that read it by this class.
    """

    path: str
    values: Mapping[str, Any]
    kind: str
    loaders: str
    file: str = "config.json"

    def number(self, key: str) -> int | None:
        """A positive whole number under a key or one of its other names; else None."""
        value = self.values.get(key)
        if value is None:
            names = (alias for alias, name in keys_of(self.kind).key_of.items() if name == key)
            value = next((self.values[name] for name in names if name in self.values), None)
        return value if type(value) is int and value > 0 else None

    def refused(self, key: str, value: object, why: str, loaders: str = "") -> Problem:
        """A value that loaders refuse; an error where both do."""
        by = loaders or self.loaders
        both = by == BOTH
        verb = "refuse it" if both else "refuses it"
        severity: Severity = "error" if both else "warning"
        return self.odd(key, f"is {shown(value)}", f"{by} {verb} ({why})", severity)

    @property
    def refusal(self) -> Severity:
        """How bad it is where those that read the config refuse it."""
        return "error" if self.loaders == BOTH else "warning"

    def odd(self, key: str, text: str, why: str, severity: Severity = "warning") -> Problem:
        """A value that is refused by some, or read otherwise than it says."""
        return Problem(
            "broken_contract" if severity == "error" else "odd_values",
            f"{self.path}{clean(key, _KEY)} {text}",
            example=f"{self.path}{clean(key, _KEY)}",
            cause=why,
            file=self.file,
            severity=severity,
        )


def shown(value: object) -> str:
    """A value as a text repeats it."""
    if isinstance(value, str):
        return f'"{clean(value, _SHOWN)}"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**_SHOWN else "a number of many digits"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return "an object"
    inner = [shown(one) for one in value[:3]] if isinstance(value, list) else []
    return f"[{', '.join(inner)}{', ...' if isinstance(value, list) and len(value) > 3 else ''}]"
