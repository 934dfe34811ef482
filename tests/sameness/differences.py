"""How two answers differ, and which differences are one."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from .asking import Answer, Compared

#: Lines of an answer that are compared line by line; of longer ones the first that differ are.
_LINES = 4000
_NUMBER = re.compile(r"\d[\d,.]*")


@dataclass
class Group:
    """Equal differences: of one question the same lines came and went, but for their numbers, the
    model's name and white space."""

    question: str
    example: str
    diff: list[str]
    subjects: list[str] = field(default_factory=list)


def diff(old: Answer, new: Answer) -> list[str]:
    """The lines that went and came, with a line of context, each part under its name."""
    lines: list[str] = []
    if old.code != new.code:
        lines += [f"-exit code {old.code}", f"+exit code {new.code}"]
    for name, before, after in (("stdout", old.out, new.out), ("stderr", old.err, new.err)):
        if before != after:
            lines += [f"@@ {name}", *_changed(before.splitlines(), after.splitlines())]
            if before.splitlines() == after.splitlines():
                lines += [f"-{before[-40:]!r}", f"+{after[-40:]!r}"]
    return lines


def _changed(before: Sequence[str], after: Sequence[str]) -> list[str]:
    start = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        start += 1
    end = 0
    longest = min(len(before), len(after)) - start
    while end < longest and before[-1 - end] == after[-1 - end]:
        end += 1
    first = max(0, start - 1)
    theirs = before[first : len(before) - end + 1][:_LINES] if end else before[first:][:_LINES]
    ours = after[first : len(after) - end + 1][:_LINES] if end else after[first:][:_LINES]
    return list(islice(difflib.unified_diff(theirs, ours, lineterm="", n=1), 3, None))


def _kind(lines: Iterable[str], subject: str) -> bytes:
    """The same for lines that differ in no more than numbers, the model's name and white space."""
    called = subject.rpartition("/")[2]
    said = (line.replace(called, "MODEL") for line in lines if line[:1] in "+-")
    kinds = sorted({" ".join(_NUMBER.sub("N", line).split()) for line in said})
    return hashlib.sha256("\n".join(kinds).encode()).digest()


class Differences:
    """The differences of all subjects, equal ones together. Of answers that are equal nothing is
    kept, of others the lines of one example each."""

    def __init__(self) -> None:
        self.by_subject: dict[str, list[str]] = {}
        self._groups: dict[tuple[str, bytes], Group] = {}

    def add(self, one: Compared) -> None:
        """What differs of one subject, if anything does."""
        for question, old, new in one.differing:
            lines = diff(old, new)
            key = question.name, _kind(lines, one.subject)
            group = self._groups.setdefault(key, Group(question.name, one.subject, lines))
            group.subjects.append(one.subject)
            self.by_subject.setdefault(one.subject, []).append(question.name)

    @property
    def groups(self) -> list[Group]:
        """Those of the most subjects first."""
        return sorted(self._groups.values(), key=lambda group: -len(group.subjects))


def grouped(compared: Iterable[Compared]) -> list[Group]:
    """The differences of these."""
    differences = Differences()
    for one in compared:
        differences.add(one)
    return differences.groups


def shortened(lines: Sequence[str], count: int, width: int = 110) -> list[str]:
    """The first lines, each cut, with how many more there are."""
    shown = [line if len(line) <= width else f"{line[: width - 1]}…" for line in lines[:count]]
    return shown if len(lines) <= count else [*shown, f"... {len(lines) - count:,} more lines"]
