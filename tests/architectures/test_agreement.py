"""Labels from the tree and labels from names alone, on every recorded model.

``python -m tests.architectures.test_agreement [FAMILY ...]`` prints where they differ.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

from hfinspect.analysis.name_context import labeller
from hfinspect.analysis.names import layer_of
from hfinspect.architectures.prediction import Prediction, predict
from hfinspect.core.components import Role

from . import recordings

FAMILIES = recordings.families()


def predictions(family: str) -> Iterator[Prediction]:
    for path in FAMILIES[family]:
        record = recordings.load(path)
        if not recordings.is_default(record):
            yield predict(recordings.spellings(record)["given"])


def disagreements(family: str) -> frozenset[str]:
    """``family template: component of the name, component of the tree``, and the same of layers."""
    found: set[str] = set()
    for prediction in predictions(family):
        labels_of = labeller((tensor.name, tensor.shape) for tensor in prediction.tensors)
        for tensor in prediction.tensors:
            labels, where = labels_of(tensor.name), f"{family} {template(tensor.name)}"
            if labels.component is not tensor.component and tensor.role is Role.PARAMETER:
                found.add(f"{where}: {labels.component}, {tensor.component}")
            told, said = layer_of(tensor.name, labels), (tensor.stack, tensor.layer)
            if told != said:
                kind = "no layer" if told[1] is None else "a layer" if said[1] is None else "other"
                found.add(f"{where}: {kind} by its name")
    return frozenset(found)


def template(name: str) -> str:
    """The name with N for every number."""
    return re.sub(r"(?<![^.])\d+(?![^.])", "N", name)


@pytest.mark.parametrize("family", FAMILIES)
def test_names_and_tree_agree(family: str) -> None:
    differing = sorted(disagreements(family))
    assert not differing, "\n".join(["names say, the tree says", *differing])


def main() -> None:
    for family in sys.argv[1:] or FAMILIES:
        for line in sorted(disagreements(family)):
            sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
