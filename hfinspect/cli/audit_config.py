"""``[tool.hfinspect]`` of pyproject.toml: what an audit of this project selects and ignores.

    [tool.hfinspect]
    select = ["HI1", "HI2", "HI4"]
    ignore = ["HI207"]
    fail-on = "warning"

    [tool.hfinspect.per-path]
    "checkpoints/old/*" = ["HI5"]

The nearest pyproject.toml with such a table counts, from the current folder upwards. One that lies
in a folder which is being audited is passed over: whoever made the checkpoint may have written it.
``--config FILE`` names one all the same.
"""

import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Larger files are no project's settings.
MAX_BYTES: Final = 1_000_000
_LISTS: Final = ("select", "ignore")


class AuditConfig(NamedTuple):
    """What a project says; empty where it says nothing. ``path`` is the file that says it."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    per_path: tuple[tuple[str, tuple[str, ...]], ...] = ()
    path: Path | None = None

    def ignored_at(self, target: str) -> tuple[str, ...]:
        """Codes that are ignored for one target, next to those of all."""
        name = target.replace("\\", "/").removeprefix("./").rstrip("/")
        return tuple(
            code
            for pattern, codes in self.per_path
            if fnmatchcase(name, pattern.removeprefix("./").rstrip("/"))
            for code in codes
        )


def find_config(targets: Sequence[str], config: Path | None) -> tuple[AuditConfig, str]:
    """The project's settings, and a remark where a file was passed over. Raises UsageError."""
    if config is not None:
        table = _table(config)
        if table is None:
            raise UsageError(f"--config {config}", "has no table [tool.hfinspect]")
        return _checked(config, table), ""
    directory = Path.cwd()
    for folder in (directory, *directory.parents):
        path = folder / "pyproject.toml"
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            continue
        table = _table(path)
        if table is None:
            continue
        if any(_holds(target, folder) for target in targets):
            return AuditConfig(), (
                f"{path} lies in what is audited and is not read; --config {path.name} reads it"
            )
        return _checked(path, table), ""
    return AuditConfig(), ""


def _holds(target: str, folder: Path) -> bool:
    """Whether a target is the folder, or one around it."""
    try:
        place = Path(target).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):
        return False
    return place == folder.resolve() or place in folder.resolve().parents


def _table(path: Path) -> Mapping[str, Any] | None:
    try:
        data = path.read_bytes()[: MAX_BYTES + 1]
        document = tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise UsageError(str(path), f"cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(str(path), f"is not TOML: {error}") from None
    tool = document.get("tool")
    table = tool.get("hfinspect") if isinstance(tool, dict) else None
    return table if isinstance(table, dict) else None


def _checked(path: Path, table: Mapping[str, Any]) -> AuditConfig:
    known = (*_LISTS, "fail-on", "per-path")
    for key in table:
        if key not in known:
            raise UsageError(
                f"{path}: tool.hfinspect.{key}", "is unknown", expected=", ".join(known)
            )
    lists = {key: _codes(path, key, table.get(key, [])) for key in _LISTS}
    fail_on = table.get("fail-on")
    if fail_on is not None and not isinstance(fail_on, str):
        raise UsageError(f"{path}: tool.hfinspect.fail-on", "is not text")
    paths = table.get("per-path", {})
    if not isinstance(paths, dict):
        raise UsageError(f"{path}: tool.hfinspect.per-path", "is not a table")
    per_path = tuple((name, _codes(path, name, codes)) for name, codes in paths.items())
    return AuditConfig(lists["select"], lists["ignore"], fail_on, per_path, path)


def _codes(path: Path, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(code, str) for code in value):
        raise UsageError(
            f"{path}: tool.hfinspect: {key}", "is not a list of codes", expected='["HI207"]'
        )
    return tuple(value)
