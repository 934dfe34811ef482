"""One question has one answer in inspect, explain, scan, compare and JSON, on all fixtures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.errors import HfinspectError
from hfinspect.scanning.rows import COLUMNS, row_of

from .schemas import conforms

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def targets() -> list[Path]:
    """The models, and the checkpoints that are kept as the files themselves."""
    checkpoints = (FIXTURES / "checkpoints").iterdir()
    kept = [path for path in checkpoints if any(path.glob("*.[!j]*"))]
    kept.remove(FIXTURES / "checkpoints" / "torch-optimizer")  # no model
    return sorted([*(FIXTURES / "models").iterdir(), *kept])


#: Where a command's plain data has what is asked.
SAME = ("parameters", "parameters_with_head", "active_parameters")
STORED = ("logical", "stored", "buffers", "nbytes")


@pytest.mark.parametrize("target", targets(), ids=lambda path: path.name)
def test_all_commands_give_one_number(target: Path) -> None:
    inspection = hfinspect.inspect(target)
    document = inspection.to_dict(tensors=True)
    (scanned,) = hfinspect.scan([target])
    row: dict[str, Any] = row_of(scanned, tuple(COLUMNS))
    assert {key: row[key] for key in (*SAME, *STORED)} == {
        key: document[key] for key in (*SAME, *STORED)
    }
    assert row["beyond"] == sum(group["parameters"] for group in document["beyond"])
    compared = hfinspect.compare(target, target).to_dict()
    tensors = document.pop("tensors")
    conforms(document)
    assert compared["models"] == [document, document]
    own = [t["nbytes"] - t["shared_nbytes"] for t in tensors if t["nbytes"] is not None]
    if document["nbytes"] is not None:
        assert sum(own) == document["nbytes"]
    _sums_are_the_totals(document)
    try:
        derived = hfinspect.explain(target).to_dict()
    except HfinspectError:
        assert not inspection.catalogued
        return
    assert {key: derived[key] for key in SAME} == {key: document[key] for key in SAME}
    assert derived["beyond"] == document["beyond"]
    assert sum(share["parameters"] for share in derived["components"]) == inspection.parameters


def _sums_are_the_totals(document: dict[str, Any]) -> None:
    if document["parameters"] is None:
        return
    for groups in ("components", "parts", "dtypes"):
        assert sum(t["parameters"] for t in document[groups].values()) == document["parameters"]
    if document["nbytes"] is not None and document["source"] == "checkpoint":
        beyond = sum(group["nbytes"] for group in document["beyond"])
        held = sum(totals["nbytes"] for totals in document["components"].values())
        assert held + beyond == document["nbytes"]
        assert sum(t["nbytes"] for t in document["dtypes"].values()) == document["nbytes"]
