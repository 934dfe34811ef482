"""A config that is given itself, in place of the name of a model."""

import os
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from ..errors import ConfigError, UsageError
from .config import ModelConfig
from .nesting import MAX_CONFIG_DEPTH, NestingError, check_value


@runtime_checkable
class HasConfig(Protocol):
    """An object that knows its config.json, as the config classes of libraries do."""

    def to_dict(self) -> Any: ...


def is_config(target: object) -> bool:
    """Whether a target is a config itself, and no name of a place."""
    if isinstance(target, (str, os.PathLike, type)):
        return False
    return isinstance(target, (Mapping, HasConfig))


#: Of a whole number; 4,300 digits, Python's own limit, have 14,284.
_MAX_BITS = 14_280


def config_given(target: object) -> Mapping[str, Any] | None:
    """The config that a target itself is, as a mapping; None for what names a place.

    Raises UsageError for an object whose ``to_dict`` gives no mapping, ConfigError for numbers and
    nesting that no config.json has.
    """
    if isinstance(target, ModelConfig):
        return target.values
    if not is_config(target):
        return None
    values = target if isinstance(target, Mapping) else target.to_dict()  # type: ignore[attr-defined]
    if not isinstance(values, Mapping):
        name = type(target).__name__
        raise UsageError(
            f"the config of a {name}", "is not a mapping", expected="to_dict of a config"
        )
    try:
        check_value(values, MAX_CONFIG_DEPTH)
    except NestingError as error:
        raise ConfigError("the config", error.found, expected=error.expected) from None
    _check_digits(values)
    return values


def _check_digits(config: Mapping[str, Any]) -> None:
    """Raises ConfigError for a number that Python would not write out; JSON cannot hold it."""
    pending: list[object] = [config]
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            raise ConfigError("the config", "holds a number of too many digits")
        if isinstance(value, (Mapping, list, tuple)) and id(value) not in seen:
            seen.add(id(value))
            pending.extend(value.values() if isinstance(value, Mapping) else value)
