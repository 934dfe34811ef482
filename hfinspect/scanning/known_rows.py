"""The rows of an earlier scan by target, in a file: a million of them would not fit memory."""

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UnreadableError
from .rows import ScanRow

if TYPE_CHECKING:
    from sqlite3 import Connection


class KnownRows:
    """A database next to the rows, for as long as it is needed. Use as a context manager.

    Raises UnreadableError where it cannot be written.
    """

    def __init__(self, path: Path, rows: Iterable[ScanRow]) -> None:
        self.path = path
        self._rows = rows
        self._database: Connection | None = None

    def __enter__(self) -> "KnownRows":
        import sqlite3

        self._remove()
        try:
            self._database = sqlite3.connect(self.path)
            self._database.execute("PRAGMA journal_mode = OFF")
            self._database.execute("PRAGMA synchronous = OFF")
            self._database.execute("CREATE TABLE rows (target TEXT PRIMARY KEY, row TEXT)")
            pairs = ((str(row["target"]), json.dumps(row)) for row in self._rows)
            self._database.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", pairs)
        except sqlite3.Error as error:
            self.__exit__()
            raise UnreadableError(str(self.path), f"cannot be written: {error}") from None
        return self

    def get(self, target: str) -> ScanRow | None:
        """The row of a target, if there is one."""
        assert self._database is not None
        rows = self._database.execute("SELECT row FROM rows WHERE target = ?", (target,))
        text = rows.fetchone()
        row: ScanRow | None = None if text is None else json.loads(text[0])
        return row

    def _remove(self) -> None:
        with suppress(OSError):
            self.path.unlink()

    def __exit__(self, *_: object) -> None:
        if self._database is not None:
            self._database.close()
        self._remove()
