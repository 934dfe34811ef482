"""Labels from the tree and labels from names alone, on every recorded model.

They agree but for the lines of ``fixtures/oracle/name_disagreements.txt``: names that are honestly
ambiguous (``proj_out`` is a head here, an MLP there).
``python -m tests.architectures.test_agreement``
writes the list as it is now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from hfinspect.analysis.names import labels_of, layer_of
from hfinspect.architectures.prediction import Prediction, predict
from hfinspect.core.components import Role

from . import recordings

KNOWN_FILE = recordings.RECORDED.parent / "name_disagreements.txt"
FAMILIES = recordings.families()


def predictions(family: str) -> Iterator[Prediction]:
    for path in FAMILIES[family]:
        record = recordings.load(path)
        if not recordings.is_default(record):
            yield predict(recordings.spellings(record)["given"])


@cache
def disagreements(family: str) -> frozenset[str]:
    """``family template: component of the name, component of the tree``, and the same of layers."""
    found: set[str] = set()
    for prediction in predictions(family):
        for tensor in prediction.tensors:
            labels = labels_of(tensor.name)
            if labels.component is not tensor.component and tensor.role is Role.PARAMETER:
                found.add(
                    f"{family} {template(tensor.name)}: {labels.component}, {tensor.component}"
                )
            told, said = layer_of(tensor.name, labels), (tensor.stack, tensor.layer)
            if told != said:
                kind = "no layer" if told[1] is None else "a layer" if said[1] is None else "other"
                found.add(f"{family} {template(tensor.name)}: {kind} by its name")
    return frozenset(found)


def template(name: str) -> str:
    """The name with N for every number."""
    return re.sub(r"(?<![^.])\d+(?![^.])", "N", name)


@pytest.mark.parametrize("family", FAMILIES)
def test_names_and_tree_agree(family: str) -> None:
    known = {line for line in KNOWN_FILE.read_text().splitlines() if line.split()[0] == family}
    assert disagreements(family) - known == set()


def test_no_known_disagreement_is_stale() -> None:
    """What agrees by now leaves the list."""
    known = set(KNOWN_FILE.read_text().splitlines())
    families = {line.split()[0] for line in known}
    now = set().union(*(disagreements(family) for family in families & FAMILIES.keys()))
    assert known - now == set()


def main() -> None:
    lines = sorted(set().union(*(disagreements(family) for family in FAMILIES)))
    Path(KNOWN_FILE).write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
