"""The manifest of a dataset: which parts are whole, what they hold, and where the list goes on."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..core.nesting import loads
from ..errors import UnreadableError, UsageError
from ..sources.hub.search import BEGIN, MAX_CURSOR, ListPlace

#: Changes when older manifests can no longer be read.
VERSION: Final = 1
#: 100,000 parts, which are a billion rows, take 12 MB.
MAX_BYTES: Final = 32 << 20
_MOST: Final = 1 << 53


class PartRecord(NamedTuple):
    """A whole part. ``targets`` is the SHA-256 of the names in their order."""

    rows: int
    failed: int
    targets: str


class Manifest(NamedTuple):
    """``query`` says which list it is, ``columns`` are names and types of the rows."""

    query: Mapping[str, object]
    columns: Mapping[str, str]
    part_rows: int
    parts: tuple[PartRecord, ...] = ()
    place: ListPlace = BEGIN
    complete: bool = False

    @property
    def rows(self) -> int:
        """Rows of the whole parts."""
        return sum(part.rows for part in self.parts)

    @property
    def failures(self) -> int:
        return sum(part.failed for part in self.parts)


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Replace the file, whole or not at all. Raises UnreadableError."""
    form = {
        "version": VERSION,
        "query": manifest.query,
        "part_rows": manifest.part_rows,
        "complete": manifest.complete,
        "next": manifest.place._asdict(),
        "columns": manifest.columns,
        "parts": [part._asdict() for part in manifest.parts],
    }
    unfinished = path.with_name(f".{path.name}.new")
    try:
        unfinished.write_text(json.dumps(form, indent=1) + "\n", encoding="ascii")
        unfinished.replace(path)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise UnreadableError(str(path), f"cannot be written: {error.strerror}") from None


def read_manifest(path: Path) -> Manifest | None:
    """The manifest, None where there is none. Raises UnreadableError, and UsageError for a file
    that is something else."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableError(str(path), f"cannot be read: {error.strerror}") from None
    try:
        if len(data) > MAX_BYTES:
            raise ValueError("too long")
        return _manifest(loads(data))
    except (ValueError, TypeError, KeyError):
        raise UsageError(
            str(path),
            "is not the manifest of a scan",
            expected=f"version {VERSION}, as a scan to this folder writes it",
            hint="begin again in another folder",
        ) from None


def _manifest(form: Any) -> Manifest:
    """Raises ValueError, TypeError or KeyError for another form."""
    place = form["next"]
    cursor = place["cursor"]
    query = form["query"]
    columns = form["columns"]
    texts = isinstance(columns, dict) and all(isinstance(kind, str) for kind in columns.values())
    if (
        form["version"] != VERSION
        or not isinstance(cursor, str)
        or len(cursor) > MAX_CURSOR
        or not isinstance(query, dict)
        or not texts
        or not isinstance(form["complete"], bool)
    ):
        raise ValueError("another form")
    parts = tuple(
        PartRecord(_count(part["rows"]), _count(part["failed"]), str(part["targets"]))
        for part in form["parts"]
    )
    return Manifest(
        query,
        columns,
        _count(form["part_rows"]),
        parts,
        ListPlace(_count(place["number"]), cursor, _count(place["skip"])),
        form["complete"],
    )


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST:
        raise ValueError("not a count")
    return value
