"""When a trace may take the place of a written family."""

from __future__ import annotations

from typing import Any

from .replace import held_numbers


def trace(*rules: dict[str, Any]) -> dict[str, Any]:
    first, *more = [{"root": 0, "guards": number} for number in range(len(rules))]
    return {"guards": list(rules), "classes": {"SmallModel": {**first, "or": more}}}


def test_a_size_that_is_held_to_what_was_recorded_is_seen() -> None:
    held = {"hidden_size": {"is": [32, 768]}, "depth": {"least": 1}, "act": {"is": ["gelu"]}}
    assert list(held_numbers(trace(held), "SmallModel")) == ["hidden_size"]
    assert list(held_numbers(trace(held, {"hidden_size": {"is": [64]}}), "SmallModel"))


def test_a_size_that_another_root_follows_is_not() -> None:
    held = {"hidden_size": {"is": [32]}}
    assert not list(held_numbers(trace(held, {"hidden_size": {"least": 1}}), "SmallModel"))
    assert not list(
        held_numbers(trace({"tie": {"is": [True]}, "any": {"is": [None]}}), "SmallModel")
    )
