"""Models of stages: any number of them is fitted, and configs that try what a trace compares."""

from __future__ import annotations

from random import Random
from typing import Any, cast

import pytest

from hfinspect.core.config import ModelConfig
from hfinspect.errors import HfinspectError
from hfinspect.trees.backbone_stages import chosen_stages, stage_names
from hfinspect.trees.expand import expected_tensors
from hfinspect.trees.traced import builders

from .test_recording import Patches
from .tracing.challenging import challenges
from .tracing.library import Library
from .tracing.observing import Saved
from .tracing.recording import Recorded, Recording
from .tracing.staging import of_the_last, parallel, resized, staged
from .tracing.writing import Trace

DEFAULT = {
    "widths": [16, 24, 56, 80],
    "depths": [2, 1, 2, 1],
    "embed": 6,
    "num_stages": 4,
    "stem": 8,
    "strided": False,
}


class Stages(Patches):
    """A library of one class of stages: a convolution between two, a shortcut where the width
    changes, and a norm of a width that doubles."""

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {key: type(value).__name__ for key, value in DEFAULT.items()}

    def looked_at(self, kind: str, name: str, given: Any) -> set[str]:
        return set(DEFAULT)

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {**DEFAULT, **given}

    as_saved = full

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        n = rng.randint(1, 6)
        return {
            **base,
            "embed": rng.randint(1, 99),
            "num_stages": n,
            "stem": rng.choice((8, 16)),
            "strided": rng.random() < 0.5,
            "widths": [rng.choice((16, 24, 56, 72)) for _ in range(n)],
            "depths": [rng.randint(1, 3) for _ in range(n)],
        }

    def _shapes(self, full: dict[str, Any]) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = {}
        before = full["stem"]
        if len(full["widths"]) != full["num_stages"] or full["num_stages"] < 1:
            raise ValueError("lists of another length")
        for i in range(full["num_stages"]):
            width = full["widths"][i]
            if before != width or (full["strided"] and i == 0):
                shapes[f"stages.{i}.shortcut.weight"] = (width, before)
            for j in range(full["depths"][i]):
                shapes[f"stages.{i}.layers.{j}.weight"] = (width, width)
            shapes[f"stages.{i}.norm.weight"] = (full["embed"] * 2**i,)
            before = width
        return {**shapes, "head.weight": (7, before), "head.bias": (full["embed"] * 2**i,)}

    def saved_names(self, kind: str, name: str, given: Any) -> dict[str, tuple[int, ...]]:
        return self._shapes(self.full(kind, name, given))

    loaded_names = saved_names

    def build(self, kind: str, name: str, given: Any) -> Saved:
        shapes = self.saved_names(kind, name, given)
        held = {n: (shape, "float32") for n, shape in shapes.items()}
        modules = {n.rpartition(".")[0] for n in held}
        modules |= {m.rpartition(".")[0] for m in modules} | {"stages", "layers"}
        classes = {m: "ModuleList" if m.endswith("s") else "Linear" for m in modules if m}
        return Saved(held, {n: n for n in held}, {}, frozenset(held), {"": name, **classes})


@pytest.fixture(scope="module")
def stages_recording() -> Recorded:
    return Recording(cast("Library", Stages()), "stages", "StagesModel").solve()


def said(recording: Recorded, config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    trace = Trace(recording.tree, recording.defaults).as_json(
        "stages", {"StagesModel": recording.guards}
    )
    root = builders(trace)["StagesModel"](ModelConfig(config))
    return {s.name: tuple(map(int, s.shape)) for s in expected_tensors(root)}


@pytest.mark.parametrize("count", [1, 2, 4, 7, 11])
def test_any_number_of_stages_is_fitted(stages_recording: Recorded, count: int) -> None:
    config = {
        "num_stages": count,
        "widths": [20 + 3 * i for i in range(count)],
        "depths": [1 + i % 3 for i in range(count)],
        "embed": 5,
    }
    assert said(stages_recording, config) == Stages().saved_names("", "", config)


def test_what_two_equal_widths_lack_is_known_of_every_stage(stages_recording: Recorded) -> None:
    for widths in ([8, 24, 56, 80], [16, 16, 56, 80], [16, 24, 24, 24], [8, 8, 8, 8]):
        for strided in (False, True):
            config = {"widths": widths, "strided": strided}
            assert said(stages_recording, config) == Stages().saved_names("", "", config), config


def test_lists_of_unequal_lengths_are_refused_by_name(stages_recording: Recorded) -> None:
    for config in ({"widths": [16, 24]}, {"num_stages": 3}, {"widths": [16] * 5}):
        with pytest.raises(HfinspectError, match=r"widths|num_stages"):
            said(stages_recording, config)


class Backbones(Stages):
    """The same with a norm for each map that it hands on."""

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        full = super().full(kind, name, given)
        names = stage_names(len(full["widths"]))
        keys = {k: full[k] for k in ("out_features", "out_indices") if full.get(k) is not None}
        chosen = chosen_stages(ModelConfig(keys), names)
        return {**full, "out_features": [names[i] for i in chosen], "out_indices": chosen}

    def _shapes(self, full: dict[str, Any]) -> dict[str, tuple[int, ...]]:
        shapes = super()._shapes(full)
        widths = (full["stem"], *full["widths"])
        names = stage_names(len(full["widths"]))
        norms = {f"norms.{names[i]}.weight": (widths[i],) for i in full["out_indices"]}
        return {**shapes, **norms}

    def build(self, kind: str, name: str, given: Any) -> Saved:
        made = super().build(kind, name, given)
        return made._replace(classes={**made.classes, "norms": "ModuleDict"})


def test_maps_that_are_handed_on_are_fitted() -> None:
    library = Backbones()
    recording = Recording(cast("Library", library), "stages", "StagesModel").solve()
    assert not recording.guards.keys() & {"out_features", "out_indices"}
    lists = {"widths": [8, 9, 10, 11, 12, 13, 14], "depths": [1] * 7, "num_stages": 7}
    for maps in ({}, {"out_features": ["stem", "stage6"]}, {"out_indices": [2, -1]}):
        config = {**lists, **maps}
        assert said(recording, config) == library.saved_names("", "", config)


def test_keys_of_stages_go_together() -> None:
    env = {
        "widths": [8, 16],
        "depths": [1, 1],
        "num_stages": 2,
        "patch_size": 2,
        "image_mean": [1, 2],
        "out_features": ["a", "b"],
        "inner.depths": [3, 3],
        "inner.num_blocks": 2,
        "kinds": ["x"],
    }
    outer, inner = parallel(env)
    assert (outer.lists, outer.counts) == (("widths", "depths"), ("num_stages",))
    assert (inner.lists, inner.counts) == (("inner.depths",), ("inner.num_blocks",))
    assert outer.resized(env, 3) == {"widths": [8, 16, 16], "depths": [1, 1, 1], "num_stages": 3}
    assert outer.agree(env) and not outer.agree({**env, "num_stages": 3})
    # Layers that are numbered are no stages.
    assert parallel({"layer_types": ["full", "full"], "num_hidden_layers": 2}) == []


def test_widths_go_on_as_they_grew() -> None:
    assert resized("hidden_sizes", [32, 64], 4) == [32, 64, 128, 256]
    assert resized("depths", [2, 6, 2], 2) == [2, 6]
    assert resized("kinds", ["a", "b"], 3) == ["a", "b", "b"]
    assert resized("absent", None, 3) is None


def test_what_one_stage_computes_is_proposed_for_all() -> None:
    env = {"widths": [8, 16, 32, 64], "embed": 6}
    sizes = [["*", "embed", 4], ["//", ["[]", "widths", 2], 4]]
    compared = [["==", ["[]", "widths", 1], ["[]", "widths", 2]]]
    some = staged([], sizes, compared, env, ["widths", "embed"])
    assert ["*", "embed", ["**", 2, "stage"]] in some.expressions
    assert ["//", ["[]", "widths", "stage"], 4] in some.expressions
    before = ["[]", "widths", ["-", "stage", 1]]
    assert ["==", before, ["[]", "widths", "stage"]] in some.conditions
    last = of_the_last([["*", "embed", 8]], env, parallel({**env, "depths": [1] * 4}))
    assert ["*", "embed", ["**", 2, ["-", ["len", "widths"], 1]]] in last


def test_a_comparison_is_made_to_turn_with_what_stands_around_it() -> None:
    env = {"widths": [8, 16], "stem": 3, "kind": "x", "flag": False}
    inner = {"if": ["==", "stem", ["[]", "widths", "stage"]], "then": None, "else": None}
    tree = {"class": "M", "in": {"a": {"if": ["is", "kind", "y"], "then": inner, "else": None}}}
    configs = list(challenges(tree, env, {"kind": ["y"], "flag": [True]}, ["flag"]))
    assert {"kind": "y", "stem": 8} in configs
    assert {"kind": "y", "widths": [8, 3]} in configs
    assert {"kind": "y", "stem": 16, "flag": True} in configs
