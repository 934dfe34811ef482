"""From a symbolic tree to the JSON of a trace: what is said where."""

from __future__ import annotations

from typing import Any

from .tracing.writing import Table


def leaf(kind: str | None) -> dict[str, Any]:
    return {"shape": [2], "label": ("head", "text", kind)}


def test_what_all_tensors_of_a_module_are_is_said_once() -> None:
    table = Table()
    tree = {"class": "Head", "in": {"weight": leaf("classifier"), "bias": leaf("classifier")}}
    table.root(tree, "text")
    assert table.nodes[-1] == {
        "class": "Head", "as": "head", "kind": "classifier", "in": {"weight": [2], "bias": [2]},
    }  # fmt: skip


def test_a_part_is_not_what_its_neighbour_is() -> None:
    """The base model below a classifier is no classifier."""
    table = Table()
    base = {"section": "", "class": "BaseModel"}
    tree = {"class": "Whole", "in": {"base": base, "out": {"class": "Linear", "in": {
        "weight": leaf("classifier")}}}}  # fmt: skip
    table.root(tree, "text")
    whole = table.nodes[-1]
    assert "kind" not in whole and "as" not in whole
    assert whole["in"]["base"] == base
