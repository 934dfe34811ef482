"""A terminal too narrow for a table: names are cut in the middle, numbers never, a pipe's never."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import hfinspect
from hfinspect.reports import comparison, explained, module_tree, tensor_list
from hfinspect.reports.column_fit import fitted, shortened
from hfinspect.reports.document import Column, Document, Facts, Preformatted, Table
from hfinspect.reports.table import Canvas, render
from hfinspect.trees.structure import outline

ROOT = Path(__file__).resolve().parents[2]
CONFIG = json.loads((ROOT / "fixtures/models/bloom-1b4-zh/config.json").read_text())
DEEPSEEK = json.loads((ROOT / "fixtures/models/deepseek-v3/config.json").read_text())
LONG = "organisation/a-model-with-quite-a-long-name-of-its-own"


def tensors() -> Document:
    return tensor_list.lay_out(LONG, hfinspect.inspect(CONFIG).tensors, fold=True)


def tree() -> Document:
    part = hfinspect.predict(CONFIG)
    return module_tree.lay_out(
        LONG,
        module_tree.ModuleTrees(
            LONG, (), (), [module_tree.PartTree("", "", None, outline(part.root, part.specs))]
        ),
    )


def compare() -> Document:
    return comparison.lay_out(hfinspect.compare(CONFIG, {**CONFIG, "n_layer": 3, "dtype": None}))


@pytest.mark.parametrize("width", [60, 45])
@pytest.mark.parametrize("document", [tensors, tree, compare])
def test_no_line_is_wider_than_a_terminal(document: Callable[[], Document], width: int) -> None:
    text = render(document(), Canvas(width, cuts=True))
    assert max(map(len, text.splitlines())) <= width
    assert "…" in text


def explanation() -> Document:
    return explained.lay_out(hfinspect.explain(DEEPSEEK))


def findings() -> Document:
    """A finding of an audit, and a path without a space in it."""
    line = "error    HI402  model.pt: archive/data.pkl names " + "torch.nn.modules." * 4
    return Document(LONG, (Preformatted(line), Facts((("path", "/a" * 40),))))


@pytest.mark.parametrize("document", [tensors, tree, compare, explanation, findings])
def test_no_line_is_wider_than_forty_columns(document: Callable[[], Document]) -> None:
    text = render(document(), Canvas(40, cuts=True, color=True))
    plain = re.sub(r"\033\[[\d;]*m", "", text)
    assert max(map(len, plain.splitlines())) <= 40


def test_numbers_without_room_stand_below_each_other() -> None:
    columns = (Column("a", "component"), Column("b", "weights", "int"), Column("c", "sum", "int"))
    table = Table(columns, (("mlp", 1_234_567_890, 2_234_567_890),), "By component")
    text = render(Document("", (table,)), Canvas(37, cuts=True))
    assert text.splitlines()[-1].split() == ["mlp", "1,234,567,890", "2,234,567,890"]
    text = render(Document("", (table,)), Canvas(36, cuts=True))
    assert text.splitlines() == [
        "By component",
        "mlp",
        "  weights  1,234,567,890",
        "  sum      2,234,567,890",
    ]


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
