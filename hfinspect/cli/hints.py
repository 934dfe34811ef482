"""Hints in the words of the command line: the library's are those of any caller."""

from __future__ import annotations

from typing import Final

from ..errors import ConfigError, HfinspectError, UnknownArchitectureError, UsageError

#: What to type where the library says no more than this.
_TYPED: Final[dict[str | None, str]] = {
    UsageError.usual_hint: "hfinspect COMMAND --help lists its options",
    UnknownArchitectureError.usual_hint: "hfinspect architectures lists the model types that are "
    "known",
    ConfigError.usual_hint: "correct the config; --source checkpoint counts the headers of the "
    "weights without it",
}

#: What an argument of the library is at the command line.
_ARGUMENTS: Final = {
    "file": "--file {}",
    "recursive": "or all of them: hfinspect scan --recursive {}",
    "audit": "hfinspect audit --recursive {} takes a directory of checkpoints",
    "fewer": "--file NAME or --source config",
    "resume": "leave --resume out to begin anew",
}


def hint_of(error: HfinspectError) -> str | None:
    """The hint of an error with what to type."""
    hint = _TYPED.get(error.hint, error.hint) if error.hint else None
    if error.argument is None:
        return hint
    name, value = error.argument
    typed = _ARGUMENTS[name].format(value)
    if hint is None or name == "resume":
        return typed
    return f"{hint} {typed}" if hint.endswith("?") else f"{hint}; {typed}"
