"""A terminal too narrow for a table: names are cut in the middle, numbers never, a pipe's never."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import hfinspect
from hfinspect.reports import comparison, module_tree, tensor_list
from hfinspect.reports.document import Document
from hfinspect.reports.narrow import fitted, shortened
from hfinspect.reports.table import Canvas, render
from hfinspect.trees.structure import outline

ROOT = Path(__file__).resolve().parents[2]
CONFIG = json.loads((ROOT / "fixtures/models/bloom-1b4-zh/config.json").read_text())
LONG = "organisation/a-model-with-quite-a-long-name-of-its-own"


def tensors() -> Document:
    return tensor_list.lay_out(LONG, hfinspect.inspect(CONFIG).tensors, fold=True)


def tree() -> Document:
    part = hfinspect.predict(CONFIG)
    return module_tree.lay_out(LONG, [module_tree.PartTree("", "", outline(part.root, part.specs))])


def compare() -> Document:
    return comparison.lay_out(hfinspect.compare(CONFIG, {**CONFIG, "n_layer": 3, "dtype": None}))


@pytest.mark.parametrize("width", [60, 45])
@pytest.mark.parametrize("document", [tensors, tree, compare])
def test_no_line_is_wider_than_a_terminal(document: Callable[[], Document], width: int) -> None:
    text = render(document(), Canvas(width, cuts=True))
    assert max(map(len, text.splitlines())) <= width
    assert "…" in text


@pytest.mark.parametrize("document", [tensors, tree, compare])
def test_a_pipe_has_whole_names(document: Callable[[], Document]) -> None:
    assert "…" not in render(document(), Canvas(80, unlimited=True))


def test_numbers_are_never_cut() -> None:
    cells = ["124,439,808 at 1,024", "a.very.long.name.of.a.tensor.weight"]
    _, rows = fitted(["x", "y"], [cells], [False, False], 32)
    assert rows == [["124,439,808 at 1,024", "a.ve….weight"]]
    _, rows = fitted(["x", "y"], [cells], [False, False], 22)
    assert rows == [["124,439,808", "a.v…weight"], ["at 1,024", ""]]
    assert fitted(["n"], [["1,234,567,890,123"]], [True], 5)[1] == [["1,234,567,890,123"]]


def test_the_end_of_a_name_says_more() -> None:
    assert shortened("transformer.h.0.attn.weight", 13) == "tran…n.weight"
    assert shortened("short", 5) == "short"
