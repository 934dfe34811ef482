"""Labels from the tree and labels from names alone, on every recorded model.

They agree but for the lines of ``fixtures/oracle/name_disagreements.txt``: names that are honestly
ambiguous (``proj_out`` is a head here, an MLP there).
``python -m tests.architectures.test_agreement``
writes the list as it is now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hfinspect.analysis.names import labels_of, layer_of
from hfinspect.architectures.prediction import Prediction, predict
from hfinspect.core.components import Role

from . import recordings

KNOWN_FILE = recordings.RECORDED.parent / "name_disagreements.txt"
FAMILIES = sorted({path.parent.name for path in recordings.paths()})


def predictions(family: str) -> Iterator[Prediction]:
    for path in sorted((recordings.RECORDED / family).glob("*.json")):
        record = recordings.load(path)
        if not recordings.is_default(record):
            yield predict(recordings.spellings(record)["given"])


def disagreements(family: str) -> set[str]:
    """``family template: component of the name, component of the tree``, and the same of layers."""
    found = set()
    for prediction in predictions(family):
        for tensor in prediction.tensors:
            template = re.sub(r"(?<![^.])\d+(?![^.])", "N", tensor.name)
            labels = labels_of(tensor.name)
            if labels.component is not tensor.component and tensor.role is Role.PARAMETER:
                found.add(f"{family} {template}: {labels.component}, {tensor.component}")
            told, said = layer_of(tensor.name, labels), (tensor.stack, tensor.layer)
            if told != said:
                kind = "no layer" if told[1] is None else "a layer" if said[1] is None else "other"
                found.add(f"{family} {template}: {kind} by its name")
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_names_and_tree_agree(family: str) -> None:
    known = {line for line in KNOWN_FILE.read_text().splitlines() if line.split()[0] == family}
    assert disagreements(family) - known == set()


def test_no_known_disagreement_is_stale() -> None:
    """What agrees by now leaves the list."""
    known = set(KNOWN_FILE.read_text().splitlines())
    families = {line.split()[0] for line in known}
    now = set().union(*(disagreements(family) for family in families & set(FAMILIES)))
    assert known - now == set()


def main() -> None:
    lines = sorted(set().union(*(disagreements(family) for family in FAMILIES)))
    Path(KNOWN_FILE).write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
