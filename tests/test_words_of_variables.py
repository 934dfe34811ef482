"""Variables are called by what they are, not by grammar."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "hfinspect"

#: Participles and the like that say nothing of a value: a list of shards is ``shards``, not
#: ``found``; the attention of a layer to itself is no ``own``.
VAGUE = frozenset(
    """
    found said held whole wish kept asked beyond endings given made named narrow own pieces scaled
    taken wanted
    """.split()
)
#: Rooms in which ``seen`` is none of the sets that guard against a second time.
FAMILIES = ("architectures", "layers")
#: Where a name can stand that is none in prose: most files need no closer look.
PERHAPS = re.compile(
    rf"(?<![\w.])(?:{'|'.join(sorted(VAGUE | {'seen'}))})\b"
    r"(?=\s*(?:[^\w\s]|(?:in|for|if|is|and|or|not|else)\b|$))",
    re.MULTILINE,
)

#: (file or room, name) -> why it has that name.
ALLOWED = {
    ("errors.py", "found"): (
        "every error says what was found, what was expected, where and a hint: the pair is the "
        "form of errors that the documentation names, and a key in JSON"
    ),
    ("core", "found"): "the shape in a file, which JSON has under this key next to ``expected``",
    ("core", "whole"): "whether a checkpoint is whole: the key in JSON of the one judgement",
    ("core", "given"): "the id that the library gives a token: a key in JSON, next to the file's",
    ("formats", "pieces"): "what SentencePiece calls the entries of its vocabulary",
}

#: Tests in which ``found`` is what an error says was found.
FOUND_IN_TESTS = {
    "sources/test_hub_errors.py",
    "sources/test_hub_retries.py",
    "sources/test_who_failed.py",
}


def sources() -> Iterator[tuple[str, str]]:
    """(room, text) of each file; a file outside the rooms is one."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).parts[0], path.read_text(encoding="utf-8")


@cache
def vague_names() -> Counter[tuple[str, str]]:
    """(file or room, name) -> variables, fields and parameters of that name, each use. Functions
    may have such names: what is ``named(...)`` is a quantity."""
    uses: Counter[tuple[str, str]] = Counter()
    for room, text in sources():
        if not PERHAPS.search(text):
            continue
        nodes = list(ast.walk(ast.parse(text)))
        functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.alias)}
        for node in nodes:
            name = getattr(node, "id", None) or getattr(node, "arg", None)
            if isinstance(node, ast.Name | ast.arg) and name in _vague(room) - functions:
                uses[room, str(name)] += 1
    return uses


def _vague(room: str) -> frozenset[str]:
    return VAGUE | {"seen"} if room in FAMILIES else VAGUE


def test_variables_are_called_by_what_they_are() -> None:
    assert vague_names().keys() == ALLOWED.keys(), "name each for what it is"


def test_results_in_tests_are_called_by_what_they_are() -> None:
    uses: Counter[str] = Counter()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "found" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            name = getattr(node, "id", None) or getattr(node, "arg", None)
            if isinstance(node, ast.Name | ast.arg) and name == "found":
                uses[path.relative_to(Path(__file__).parent).as_posix()] += 1
    assert uses.keys() == FOUND_IN_TESTS, "name each for what it is"
