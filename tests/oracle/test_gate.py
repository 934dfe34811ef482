"""The gate of the recorder: one silent difference is found, a refusal is none."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, cast

from .record import shapes_digest
from .trace import unmended
from .tracing.gate import LEAST, MOST, STRESSED, Gated, comparisons, gate
from .tracing.library import Library

Shapes = dict[str, tuple[int, ...]]


class Small:
    """A library of one class: a matrix, and a bias at widths under ``limit``."""

    name = "transformers"

    def __init__(self, limit: int = 100_000) -> None:
        self.limit = limit

    def model_type(self, kind: str) -> str:
        return kind

    def starts(self, kind: str, name: str) -> Iterator[dict[str, Any]]:
        yield {}

    def released(self, kind: str, name: str) -> list[dict[str, Any]]:
        return []

    def sections(self, kind: str, name: str) -> dict[str, str]:
        return {}

    def hidden(self, kind: str, name: str) -> dict[str, Any]:
        return {}

    def unlisted(self, kind: str, name: str) -> dict[str, list[Any]]:
        return {}

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {"width": "int"}

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {"width": 8, **given}

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        return {**base, "width": rng.choice((0, 4, 8, 16))}

    def config_json(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {"architectures": [name], **given}

    def loaded_names(self, kind: str, name: str, given: Any) -> Shapes:
        width = given.get("width", 8)
        if width == 0:
            raise ValueError("the library refuses it")
        return {"weight": (width, 3), **({"bias": (width,)} if width < self.limit else {})}


TRACE = {
    "model_type": "small",
    "category": "encoder",
    "defaults": {"width": 8},
    "guards": [{}],
    "classes": {"SmallModel": {"root": 0, "guards": 0}},
    "nodes": [{"class": "SmallModel", "in": {"weight": ["width", 3], "bias": ["width"]}}],
}


def passed(library: Small, trace: dict[str, Any]) -> Gated:
    whole = {**TRACE, **trace}
    typed = cast("Library", library)
    return gate(typed, "small", "SmallModel", whole, {}, "seed", float("inf"))


def test_a_trace_that_says_what_is_saved_passes() -> None:
    assert passed(Small(), {}) == Gated(LEAST + STRESSED, 0, [])


def test_a_silent_difference_is_found_with_its_config() -> None:
    wrong = passed(Small(limit=10), {}).wrong
    assert wrong and all(given["width"] >= 10 for given, _ in wrong)
    assert "'bias'" in wrong[0][1]


def test_a_refusal_is_counted_and_is_no_difference() -> None:
    gated = passed(Small(limit=10), {"guards": [{"width": {"is": [4, 8]}}]})
    assert gated.refused > 5 and gated.equal > 10 and not gated.wrong
    assert "width" in gated.why


def test_more_keys_more_comparisons() -> None:
    assert [comparisons(n) for n in (0, 30, 1000)] == [LEAST, 90, MOST]


class Dense(Small):
    """Layers of ``inner`` numbers, of which the default config has none."""

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {"dense": "int", "inner": "int"}

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {"dense": 0, "inner": 16, **given}

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        return {**base, **rng.choice(({"dense": 1}, {"inner": 24}))}

    def loaded_names(self, kind: str, name: str, given: Any) -> Shapes:
        return {"up": (3,), **({"dense": (given.get("inner", 16),)} if given.get("dense") else {})}


def test_a_size_that_only_shows_where_something_is_turned_on_is_no_constant() -> None:
    dense = {"if": ["<", 0, "dense"], "then": {"shape": [16]}}
    trace = {
        "defaults": {"dense": 0, "inner": 16},
        "nodes": [{"class": "SmallModel", "in": {"up": [3], "dense": dense}}],
    }
    wrong = passed(Dense(), trace).wrong
    assert wrong and all(given["dense"] and given["inner"] != 16 for given, _ in wrong)


class Unlisted(Small):
    """A library that reads a key of which its config class says nothing."""

    def unlisted(self, kind: str, name: str) -> dict[str, list[Any]]:
        return {"head_dim": [16]}

    def loaded_names(self, kind: str, name: str, given: Any) -> Shapes:
        shapes = super().loaded_names(kind, name, given)
        return {**shapes, "head": (given["head_dim"],)} if "head_dim" in given else shapes


def test_a_key_that_no_config_class_lists_is_tried() -> None:
    wrong = passed(Unlisted(), {}).wrong
    assert wrong and all(given["head_dim"] == 16 for given, _ in wrong)
    assert not passed(Unlisted(), {"guards": [{"head_dim": {"absent": True}}]}).wrong


class Staged(Small):
    """A norm for each entry of a list; with more than three, the last hands on the widest."""

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {"widths": "list", "depths": "list"}

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {"widths": [8, 16, 32], "depths": [1, 1, 1], **given}

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        return {**base, "widths": [rng.randint(1, 99) for _ in range(3)]}

    def loaded_names(self, kind: str, name: str, given: Any) -> Shapes:
        widths = self.full(kind, name, given)["widths"]
        return {"norm": (max(widths) if len(widths) > 3 else widths[-1],)}


def test_other_lengths_of_lists_are_tried_with_other_numbers_in_them() -> None:
    trace = {
        "defaults": {"widths": [8, 16, 32]},
        "nodes": [{"class": "SmallModel", "in": {"norm": [["[]", "widths", -1]]}}],
    }
    wrong = passed(Staged(), trace).wrong
    assert wrong and all(given["widths"][-1] < max(given["widths"]) for given, _ in wrong)
    assert not passed(Staged(), {**trace, "guards": [{"widths": {"length": 3}}]}).wrong


def test_no_more_is_tried_once_something_differs() -> None:
    gated = passed(Small(limit=10), {})
    assert gated.equal + len(gated.wrong) <= LEAST


def test_a_trace_that_loses_what_was_mended_by_hand_is_not_written() -> None:
    library = Small(limit=10)
    given = {"width": 16}
    shapes = library.loaded_names("small", "SmallModel", given)
    kept = [
        {
            "library": "transformers",
            "model_type": "small",
            "architecture": "SmallModel",
            "given": given,
            "digest": shapes_digest(shapes),
        }
    ]
    bias = {"if": ["<", "width", 10], "then": ["width"]}
    mended = {
        **TRACE,
        "nodes": [{"class": "SmallModel", "in": {"weight": ["width", 3], "bias": bias}}],
    }
    guarded = {**TRACE, "guards": [{"width": {"is": [8]}}]}

    def lost(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
        return list(unmended(cast("Library", library), "small", old, new, kept))

    assert lost(mended, TRACE) == ['SmallModel {"width": 16}: wrong']
    assert lost(mended, guarded) == ['SmallModel {"width": 16}: refused']
    assert lost(guarded, TRACE) == ['SmallModel {"width": 16}: wrong']
    assert lost(guarded, guarded) == lost(guarded, mended) == []
