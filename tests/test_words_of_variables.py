"""How long the package is, and variables that are called by grammar instead of by what they are."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "hfinspect"

#: Lines of Python in the package. The aim is the issue's: what families and tables repeat becomes
#: data. Whoever makes the package shorter lowers the limit; more than that needs a reason: the last
#: was the images of eight more model types.
AIM = 75_000
LONGEST = 115_550

#: Participles that say nothing of a value: a list of shards is ``shards``, not ``found``.
VAGUE = frozenset("found said held whole wish kept".split())

#: How many uses of such variables a room has yet: a number may only fall, other rooms have none.
#: ``found`` of errors.py is the field of every error: what was there instead of what was expected.
LEFT: dict[str, int] = {
    "analysis": 1,
    "checkpoints": 1,
    "cli": 1,
    "errors.py": 12,
    "inspecting": 1,
    "reports": 1,
    "scanning": 3,
    "sizing": 13,
}


def sources() -> Iterator[tuple[str, str]]:
    """(room, text) of each file; a file outside the rooms is one."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).parts[0], path.read_text(encoding="utf-8")


@cache
def vague_names() -> Counter[str]:
    """Room -> variables and parameters of such names, each use."""
    uses: Counter[str] = Counter()
    for room, text in sources():
        for node in ast.walk(ast.parse(text)):
            name = getattr(node, "id", None) or getattr(node, "arg", None)
            uses[room] += isinstance(node, ast.Name | ast.arg) and name in VAGUE
    return uses


def test_the_package_does_not_grow_back() -> None:
    lines = sum(text.count("\n") for _, text in sources())
    assert AIM < lines <= LONGEST, (
        "shorter than the aim: lower both; longer: a table or a family is data"
    )


def test_variables_are_called_by_what_they_are() -> None:
    more = {room: n for room, n in vague_names().items() if n > LEFT.get(room, 0)}
    assert not more, "name each for what it is; LEFT has what older code may have"


def test_the_numbers_fall_with_the_names() -> None:
    """A limit far above what there is would let names grow back."""
    uses = vague_names()
    assert {room: n for room, n in LEFT.items() if uses[room] < 0.8 * n} == {}, "lower them"
