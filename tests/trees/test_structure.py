"""The printed structure against print(model), recorded by tests/oracle/record_printed.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hfinspect.trees.modules import Buffer, Layers, Linear, Module, ModuleList
from hfinspect.trees.prediction import predict
from hfinspect.trees.structure import render

from ..architectures import recordings

PRINTED = sorted((recordings.RECORDED.parent / "printed").glob("*.json"))


@pytest.mark.parametrize("path", PRINTED, ids=lambda path: path.stem)
def test_structure_is_what_print_shows(path: Path) -> None:
    record = json.loads(path.read_text())
    assert render(predict(record["config"]).root).splitlines() == record["printed"], (
        f"print(model) shows the right side: change the modules of the family, or record it anew "
        f"with `python -m tests.oracle record printed {path.stem}`"
    )


def test_what_only_older_files_hold_is_not_shown() -> None:
    """The rotary frequencies that early Llama files have in each layer."""
    prediction = predict({"model_type": "llama", "num_hidden_layers": 1})
    assert any("rotary_emb.inv_freq" in spec.name for spec in prediction.specs)
    assert render(prediction.root).count("rotary_emb") == 1  # the model's own


def test_predicting_layers_that_the_class_has_not_are_not_shown() -> None:
    config = {"model_type": "deepseek_v3", "num_hidden_layers": 2, "num_nextn_predict_layers": 1}
    prediction = predict(config)
    assert any(".layers.2." in spec.name for spec in prediction.specs)
    assert "(2)" not in render(prediction.root)


def test_equal_neighbours_are_folded() -> None:
    """Runs of equal members, also of equal members that are different objects."""
    one = Linear(2, 2)
    other = Linear(2, 3)
    same = Linear(2, 2)
    shown = render(Module("M", layers=ModuleList([one, same, other, one], start=5)))
    assert [line.strip().split(":")[0] for line in shown.splitlines()[2:-2]] == [
        "(5-6)",
        "(7)",
        "(8)",
    ]
    assert "(5-6): 2 x Linear(in_features=2, out_features=2, bias=True)" in shown


def test_deep_and_wide_costs_little() -> None:
    """A template listed many times is rendered once."""
    block = Module("Block", experts=Layers.of(10_000, Linear(1, 1)))
    shown = render(Module("M", layers=Layers.of(10_000, block)))
    assert shown.count("\n") == 8


def test_a_leaf_and_a_module_without_shown_children() -> None:
    hidden = Module("Legacy", table=Buffer(3), saved=False)
    assert render(Module("Empty", old=hidden)) == "Empty()"
