"""What is run again, and how small models are narrowed before they run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ..sizing.record_transformers_workspace import RECORD
from . import run_again, sources
from .record_caches import WINDOW, _narrow, differing


def test_every_recording_has_types() -> None:
    there = run_again.everything()
    assert {name.split()[0] for name in there} == sources.SHARED.keys()
    assert all(there.values())
    assert there["caches fuyu"] == {"fuyu", "persimmon"}  # a section counts
    assert there["activations t5-gated"] == {"t5"}


def test_every_model_whose_pass_was_recorded_is_run_again() -> None:
    models = json.loads(RECORD.read_text())["models"]
    recorded = {f"workspace {name.partition(' ')[0]}" for name in models}
    assert recorded == {n for n in run_again.everything() if n.startswith("workspace ")}


def test_what_runs_for_the_first_time_differs() -> None:
    ran = {"architecture": "A", "3": [1], "12": [2], "static 16": [3]}
    fails = {"not recorded": "ValueError: no"}
    assert list(differing({"a": ran}, {"a": ran})) == []
    assert list(differing({"a": fails}, {"a": ran})) == ["a: runs, and did not in the past"]
    assert list(differing({"a": ran}, {"a": fails})) == ["a: ValueError: no"]
    assert list(differing({"a": ran}, {"a": {**ran, "12": [9]}})) == ["a: other tensors after 12"]


class Config:
    """A composite's config, whose text model is ``text_config``."""

    def __init__(self, **text: Any) -> None:
        self.text_config = type("Text", (), text)()

    def get_text_config(self, *, decoder: bool) -> Any:
        assert decoder
        return self.text_config


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ({}, {"text_config": {"sliding_window": WINDOW}}),
        ({"hidden_size": 8}, {"hidden_size": 8, "sliding_window": WINDOW}),
        ({"text_config": {"a": 1}}, {"text_config": {"a": 1, "sliding_window": WINDOW}}),
    ],
)
def test_a_window_is_narrowed_where_the_keys_are(
    given: dict[str, Any], after: dict[str, Any]
) -> None:
    assert _narrow(Config(sliding_window=4096), given)
    assert given == after


def test_a_model_without_windows_keeps_its_config() -> None:
    """An empty section would take the place of keys outside it, with the library's own sizes."""
    given = {"hidden_size": 8}
    assert not _narrow(Config(sliding_window=None), given)
    assert given == {"hidden_size": 8}
