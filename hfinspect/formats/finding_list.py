"""A bounded list of findings about one file."""

from ..core.checkpoint import Finding
from ..core.choices import SEVERITIES, Severity

#: A hostile file can break a rule a million times; so many findings are listed, the rest counted.
MAX_FINDINGS = 200


class FindingList:
    """Collects findings about ``file``; the first MAX_FINDINGS are kept, the others counted."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._items: list[Finding] = []
        self._left_out = 0
        self._worst_left_out: Severity = "note"

    def add(
        self, rule: str, text: str, tensor: str | None = None, severity: Severity = "error"
    ) -> None:
        if len(self._items) < MAX_FINDINGS:
            self._items.append(Finding(rule, text, self._file, tensor, severity))
            return
        self._left_out += 1
        self._worst_left_out = max(self._worst_left_out, severity, key=SEVERITIES.index)

    def listed(self) -> tuple[Finding, ...]:
        """What was found; if not all is listed, the last one (rule ``more``) says how many."""
        if not self._left_out:
            return tuple(self._items)
        text = f"{self._left_out:,} more findings in this file are not listed"
        more = Finding("more", text, self._file, None, self._worst_left_out)
        return (*self._items, more)
