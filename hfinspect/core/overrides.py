"""``--set key=value``: a config with some keys changed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import UsageError
from .nesting import MAX_CONFIG_DEPTH, NestingError, check_value, loads

#: Rule of the finding about a change that makes no difference.
WITHOUT_EFFECT = "override-without-effect"
#: Changes that a title names; all of them stand below it.
_IN_TITLE = 3
#: Longest value that is shown; lists of layer types have one entry a layer.
_LONGEST = 60


class Override(NamedTuple):
    """A config key that was changed for this answer: its dotted name as it was given, its value,
    and the one before (None where the config has none).

    Fields:
        key: the dotted name
        value: what it was set to
        was: the earlier value; None if the config has none
    """

    key: str
    value: Any
    was: Any

    def __str__(self) -> str:
        before = "not in the config" if self.was is None else f"was {_shown(self.was)}"
        return f"{self.key} = {_shown(self.value)} ({before})"

    def to_dict(self) -> dict[str, Any]:
        return {name: _plain(value) for name, value in self._asdict().items()}


def titled(name: str, overrides: Sequence[Override]) -> str:
    """``org/name with num_hidden_layers = 40``: the numbers below are not the model's own."""
    if not overrides:
        return name
    shown = [f"{one.key} = {_shown(one.value)}" for one in overrides[:_IN_TITLE]]
    more = len(overrides) - len(shown)
    return f"{name} with {', '.join(shown)}" + (f" and {more} more changes" if more else "")


def _plain(value: Any) -> Any:
    """A value as JSON can spell it: floats that it cannot are words."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, (str, int, float)) or value is None else str(value)


def _shown(value: object) -> str:
    text = json.dumps(_plain(value), ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def applied(config: Mapping[str, Any], overrides: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """A copy of ``config`` with dotted keys replaced; ``config`` itself is left alone.

    Raises UsageError where a dotted key runs through something that is no object, or too deep.
    """
    if not overrides:
        return config
    result = dict(config)
    for dotted, value in overrides.items():
        *path, last = dotted.split(".")
        _check_levels(dotted, 1 + len(path), value)
        place = result
        for key in path:
            inner = place.get(key)
            if inner is not None and not isinstance(inner, Mapping):
                raise UsageError(
                    f"override {dotted}", f"runs through {key}, which is not an object"
                )
            place[key] = dict(inner or {})
            place = place[key]
        place[last] = value
    return result


def _check_levels(dotted: str, above: int, value: object) -> None:
    """``above`` objects enclose the value."""
    if above > MAX_CONFIG_DEPTH:
        raise _too_deep(dotted, NestingError(above, MAX_CONFIG_DEPTH))
    try:
        check_value(value, MAX_CONFIG_DEPTH - above)
    except NestingError as error:
        raise _too_deep(dotted, error) from None


def _too_deep(dotted: str, error: NestingError) -> UsageError:
    return UsageError(f"override {dotted[:_LONGEST]}", error.found, expected=error.expected)


def value_at(config: Mapping[str, Any], dotted: str) -> Any:
    """The value under a dotted key, None where there is none."""
    place: Any = config
    for key in dotted.split("."):
        place = place.get(key) if isinstance(place, Mapping) else None
    return place


def parse_overrides(assignments: Iterable[str]) -> dict[str, Any]:
    """``["num_hidden_layers=1", "text_config.vocab_size=30000"]`` as a mapping.

    Values are JSON where they parse as JSON (which has neither NaN nor Infinity), else strings.
    Raises UsageError, also for a value that is nested too deeply.
    """
    overrides: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not all(key.split(".")):
            raise UsageError(f"override {text!r}", "is malformed", expected="key=value")
        try:
            overrides[key] = loads(value, MAX_CONFIG_DEPTH, parse_constant=_no_number)
        except NestingError as error:
            raise _too_deep(key, error) from None
        except ValueError:
            overrides[key] = value
    return overrides


def _no_number(word: str) -> float:
    raise ValueError(word)
