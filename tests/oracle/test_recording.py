"""The fit of one class: what is proposed, and lists of which another length is another thing."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, cast

from .tracing.library import Library
from .tracing.observing import Saved
from .tracing.proposing import proposed
from .tracing.recording import Recorded, Recording


class Patches:
    """A library of one class: a filter with as many sides as a list has entries, and a gate."""

    packages: tuple[str, ...] = ()

    def starts(self, kind: str, name: str, released: Any = None) -> Iterator[dict[str, Any]]:
        yield {}

    def released(self, kind: str, name: str) -> list[dict[str, Any]]:
        return []

    def sections(self, kind: str, name: str) -> dict[str, str]:
        return {}

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {"width": "int", "patch": "list[int]", "gated": "bool"}

    def words(self, kind: str, class_name: str) -> dict[str, set[str]]:
        return {}

    def unlisted(self, kind: str, name: str) -> dict[str, list[Any]]:
        return {}

    def looked_at(self, kind: str, name: str, given: Any) -> set[str]:
        return {"width", "patch", "gated"}

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {"width": 8, "patch": [2, 16, 16], "gated": False, **given}

    as_saved = full

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        sides = [rng.randint(1, 9) for _ in range(3)]
        return {**base, "width": rng.randint(1, 99), "patch": sides, "gated": rng.random() < 0.5}

    def config_json(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {"architectures": [name], **given}

    def run(self, kind: str, name: str, given: Any) -> None:
        self.saved_names(kind, name, given)

    def build(self, kind: str, name: str, given: Any) -> Saved:
        shapes = self.saved_names(kind, name, given)
        held = {n: (shape, "float32") for n, shape in shapes.items()}
        return Saved(held, {n: n for n in held}, {}, frozenset(held), {"": name})

    def saved_names(self, kind: str, name: str, given: Any) -> dict[str, tuple[int, ...]]:
        full = self.full(kind, name, given)
        found = {"weight": (full["width"], *full["patch"])}
        if full["gated"]:
            found["gate"] = ((full["width"] * 2 // 3 + 7) // 8 * 8,)
        return found

    loaded_names = saved_names


def recorded() -> Recorded:
    return Recording(cast("Library", Patches()), "patches", "PatchesModel").solve()


def test_a_list_of_another_length_does_not_keep_its_numbers_from_being_free() -> None:
    found = recorded()
    assert found.guards["patch"] == {"length": 3}
    assert found.gated.equal > 50  # of 60; the others have four sides


def test_what_is_computed_only_behind_a_flag_is_noted() -> None:
    found = recorded()
    assert found.tree["in"]["gate"]["if"] == ["true", "gated"]
    assert "gated" not in found.guards


def test_twice_a_long_expression_is_proposed() -> None:
    """Gate and up of a SwiGLU whose width is rounded are one tensor in older files."""
    third = ["//", ["*", ["*", "width", "ratio"], 2], 3]
    width = ["*", ["//", ["+", third, 7], 8], 8]
    assert ["*", 2, width] in proposed([], [width], {"width": 8, "ratio": 4}, ["width", "ratio"])
