"""Which part of a model is read, and as what: options of most commands, each written once.

The command line has its flags from here and the verbs their arguments, each those that it needs.
The order of the bases is that of ``--help`` from behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .choices import SOURCES, SourceChoice, listed
from .option_field import option
from .records import dataclass


def _changes(assignments: Iterable[str]) -> Mapping[str, Any]:
    from .overrides import parse_overrides  # --help needs no parser of values

    return parse_overrides(assignments)


@dataclass(frozen=True, kw_only=True)
class AtRevision:
    """At which revision."""

    revision: str | None = option(None, "Branch, tag or commit to read from the Hub.")


@dataclass(frozen=True, kw_only=True)
class FromSource:
    """From headers or from the config."""

    source: SourceChoice = option(
        "auto", f"{listed(SOURCES)}. auto reads weight headers if it finds any.", choices=SOURCES
    )


@dataclass(frozen=True, kw_only=True)
class WithOverrides:
    """With which changes of the config."""

    overrides: Mapping[str, Any] | None = option(
        None,
        "Change a config key (use dots for nested keys); repeatable.",
        flag="--set",
        metavar="KEY=VALUE",
        of_words=_changes,
    )


@dataclass(frozen=True, kw_only=True)
class OneFile:
    """Which file of several."""

    file: str | None = option(None, "Read only this weight file or folder of the model.")


@dataclass(frozen=True, kw_only=True)
class ModelPart(OneFile, AtRevision):
    """Which bytes of a model."""


@dataclass(frozen=True, kw_only=True)
class ConfigPart(OneFile, WithOverrides, AtRevision):
    """Which config of a model."""


@dataclass(frozen=True, kw_only=True)
class ModelReading(OneFile, WithOverrides, FromSource, AtRevision):
    """All of them."""
