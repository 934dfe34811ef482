"""A class name means one thing: who has read one file understands the name in every other."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "hfinspect"
CLASS = re.compile(r"^ *class (?P<name>\w+)[(:]", re.MULTILINE)

#: Names that two classes have, each with the reason.
ACCEPTED = {
    "Origin": "where a model is from; scheme, host and port of a URL, which RFC 6454 calls so",
    "Session": "a login as huggingface_hub has it; connections that are kept, as HTTP clients say",
    "Step": "of an optimiser; of llama.cpp, which evaluates so many tokens at once",
    "Stream": "the bytes of a connection, and the same with a bound",
}


def files_by_class() -> dict[str, list[str]]:
    """Class name -> files that have one of it; an underscore at its beginning makes no other."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for match in CLASS.finditer(path.read_text(encoding="utf-8")):
            files[match["name"].lstrip("_")].append(path.relative_to(PACKAGE).as_posix())
    return dict(files)


def test_no_two_classes_have_one_name() -> None:
    named = files_by_class()
    assert len(named) > 500
    twice = {name: files for name, files in named.items() if len(files) > 1}
    assert {name: files for name, files in twice.items() if name not in ACCEPTED} == {}
    assert twice.keys() == ACCEPTED.keys(), "an exception that is none any more"
    assert all(len(files) == 2 for files in twice.values())
