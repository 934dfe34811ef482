"""The fuzz itself: seeded, resumable, equal where the catalog is right."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from ..oracle_folder import ORACLE
from . import fuzz, mutating, record
from .deliberate import MODULE_NAMES, TABLE, passed_over, something
from .mutating import Edit


def test_edits_are_laid_over_the_base() -> None:
    base = {"a": 1, "inner": {"b": 2}}
    edits = [Edit(("inner", "c"), 3), Edit(("other", "d"), 4), Edit(("a",), 5)]
    assert mutating.edited(base, edits) == {
        "a": 5,
        "inner": {"b": 2, "c": 3},
        "other": {"d": 4},
    }
    assert base == {"a": 1, "inner": {"b": 2}}


def test_a_difference_names_each_kind_once() -> None:
    wanted = {"a.0.w": (1, 2), "a.1.w": (1, 2), "b": (3,)}
    assert fuzz.difference(wanted, {"b": (4,), "c.7": ()}) == "~b (3,)->(4,); -a.N.w; +c.N"


def test_the_table_of_what_is_deliberate_is_the_recordings_too() -> None:
    recorded = set()
    for path in (ORACLE / "cases").glob("*.json"):
        for entry in record.entries(path):
            if entry.get("names") == "module":
                recorded.add(entry["model_type"])
    assert recorded == MODULE_NAMES
    assert all(row.what and row.reason for row in TABLE)


def test_what_is_deliberate_is_passed_over() -> None:
    assert passed_over("kimi_k25", False, {"text_config": {"model_type": "qwen2"}})
    assert not passed_over("kimi_k25", False, {"text_config": {"model_type": "deepseek_v3"}})
    assert passed_over("gemma4", True, {"audio_config": None})
    assert not passed_over("gemma4", False, {"audio_config": None})
    assert something({"a": (0, 4), "b": (2,), "c": ()}) == {"b": (2,), "c": ()}


@pytest.mark.oracle
def test_a_number_repeats_a_comparison() -> None:
    one, two = (fuzz.trial(1, "llama", 3) for _ in range(2))
    assert one is not None
    assert one == two
    assert fuzz.trial(2, "llama", 3) != one


@pytest.mark.oracle
def test_a_run_goes_on_where_it_ended(tmp_path: Path) -> None:
    place = tmp_path / "fuzz.json"
    for _ in range(2):
        assert fuzz.main(["--state", str(place), "--each", "5", "llama", "gpt2"]) == 0
    state = json.loads(place.read_text())
    assert state["done"] == {"llama": 10, "gpt2": 10}
    assert {kind for counts in state["counts"].values() for kind in counts} <= {"equal", "passed"}


def test_values_stay_small_where_they_are_listed() -> None:
    for seed in range(200):
        assert mutating._number(Random(seed), "num_hidden_layers", 24) <= 4
