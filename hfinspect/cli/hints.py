"""Hints in the words of the command line: the library's are those of any caller."""

from collections.abc import Container
from typing import Final

from ..errors import ConfigError, HfinspectError, UnknownArchitectureError, UsageError

#: What to type where the library says no more than this.
_TYPED: Final[dict[str | None, str]] = {
    UsageError.usual_hint: "hfinspect {command} --help lists its options",
    UnknownArchitectureError.usual_hint: "hfinspect architectures lists the known model types",
    ConfigError.usual_hint: "correct the config, or count the weight headers without it: "
    "--source checkpoint",
}

#: What an argument of the library is at the command line.
_ARGUMENTS: Final = {
    "file": "--file {}",
    "recursive": "to read all of them: hfinspect scan --recursive {}",
    "audit": "to audit all of them: hfinspect audit --recursive {}",
    "fewer": "use --file NAME or --source config",
    "resume": "--overwrite instead of --resume begins again",
}

#: Options of this field's other tools, and what they are here, next to those of ``memory``.
_ELSEWHERE: Final[dict[str, tuple[str, ...]]] = {
    "--format json": ("json",),
    "--format csv": ("csv",),
    "--format markdown": ("markdown", "md"),
    "--output x.json": ("out", "json-output", "outfile"),
    "--revision main": ("branch", "rev", "commit"),
    "--file name/in/repo": ("filename", "subfolder", "include"),
}
#: What needs no option here.
_NO_OPTION: Final[dict[str, tuple[str, ...]]] = {
    "HF_HUB_OFFLINE=1 in the environment keeps every command off the network": (
        "offline",
        "local-files-only",
    ),
    "HF_HOME in the environment says where the Hub's cache is": ("cache-dir",),
    "hfinspect never runs code from a repo, so it needs no such option": ("trust-remote-code",),
}


def hint_of(error: HfinspectError, command: str = "COMMAND") -> str | None:
    """The hint of an error with what to type; ``command`` is the one that is running."""
    hint = _TYPED.get(error.hint, error.hint) if error.hint else None
    if error.hint == UsageError.usual_hint and hint is not None:
        hint = hint.format(command=command)
    if error.argument is None:
        return hint
    name, value = error.argument
    typed = _ARGUMENTS[name].format(value)
    if hint is None or name == "resume":
        return typed
    return f"{hint} {typed}" if hint.endswith("?") else f"{hint}; {typed}"


def meant(option: str, options: Container[str]) -> str | None:
    """What to type for an option that a command does not have, or None for a word of no tool.

    ``options`` are the ones that the command has.
    """
    word = option.lstrip("-")
    of_memory = words_of_memory()
    for typed, words in (of_memory | _ELSEWHERE).items():
        if word in words and typed.split()[0] in options:
            return f"did you mean {typed}?"
    for typed, words in of_memory.items():
        if word in words:
            return f"hfinspect memory MODEL {typed} shows that"
    return next((hint for hint, words in _NO_OPTION.items() if word in words), None)


def words_of_memory() -> dict[str, tuple[str, ...]]:
    """What to type for ``memory``: what other tools call it."""
    from ..core.memory_options import MemoryOptions
    from ..core.option_field import options_of

    return {
        f"{one.flag} {one.example}".rstrip(): tuple(
            name.replace("_", "-") for name in one.other_names
        )
        for _, one in options_of(MemoryOptions).values()
        if one.other_names
    }
