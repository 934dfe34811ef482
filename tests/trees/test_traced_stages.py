"""Traces of models with any number of stages: each reads the lists' entries of its own number."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfinspect.core.config import ModelConfig
from hfinspect.core.dims import expr_of
from hfinspect.errors import ConfigError, HfinspectError
from hfinspect.trees.expand import expected_tensors
from hfinspect.trees.traced import builders

from ..examples import examples

#: Two layers in the first stage and one in the second; between two stages the width changes; the
#: first layer of each stage has a bias, and in a stage of the kind "wide" twice the width.
STAGED: dict[str, Any] = {
    "model_type": "staged",
    "category": "vision",
    "classes": {"StagedModel": {"root": 4, "guards": 0}},
    "guards": [
        {
            "depths": {"least": 1, "each": True},
            "widths": {"length": ["len", "depths"]},
            "num_stages": {"equals": ["len", "depths"]},
            "kinds": {"of": ["wide", "narrow"]},
        }
    ],
    "defaults": {
        "widths": [8, 12],
        "depths": [2, 1],
        "kinds": ["narrow", "wide"],
        "num_stages": 2,
        "embed_dim": 3,
    },
    "nodes": [
        {
            "class": "Linear",
            "in": {"weight": [["[]", "widths", "stage"], ["[]", "widths", ["-", "stage", 1]]]},
        },
        {
            "class": "Linear",
            "in": {
                "weight": {
                    "if": ["kind", "kinds", "wide", "stage"],
                    "then": [["*", 2, ["[]", "widths", "stage"]]],
                    "else": [["[]", "widths", "stage"]],
                }
            },
        },
        {"class": "Linear", "in": {"bias": [["*", "embed_dim", ["**", 2, "stage"]]]}},
        {
            "class": "Stage",
            "in": {
                "down": {"if": ["<", 0, "stage"], "then": 0},
                "layers": {
                    "class": "ModuleList",
                    "count": ["[]", "depths", "stage"],
                    "pick": [[["==", "i", 0], 2], [None, 1]],
                },
                "last": {"if": ["==", ["+", "stage", 1], ["len", "depths"]], "then": [1]},
            },
        },
        {
            "class": "StagedModel",
            "in": {
                "stages": {
                    "class": "ModuleList",
                    "count": ["len", "depths"],
                    "place": "stage",
                    "layers": True,
                    "pick": [[None, 3]],
                }
            },
        },
    ],
}


def built(config: dict[str, Any], trace: dict[str, Any] = STAGED) -> dict[str, tuple[int, ...]]:
    root = builders(trace)["StagedModel"](ModelConfig(config))
    return {spec.name: tuple(map(int, spec.shape)) for spec in expected_tensors(root)}


def test_each_stage_reads_its_own_entries() -> None:
    assert built({}) == {
        "stages.0.layers.0.bias": (3,),
        "stages.0.layers.1.weight": (8,),
        "stages.1.down.weight": (12, 8),
        "stages.1.layers.0.bias": (6,),
        "stages.1.last": (1,),
    }


def test_a_model_has_as_many_stages_as_its_lists() -> None:
    lists = {"widths": [1, 2, 4, 8, 16], "depths": [1] * 5, "kinds": ["wide"] * 5}
    shapes = built({**lists, "num_stages": 5})
    assert shapes["stages.4.down.weight"] == (16, 8)
    assert shapes["stages.4.layers.0.bias"] == (48,)
    assert [name for name in shapes if name.endswith("last")] == ["stages.4.last"]
    one = {"widths": [7], "depths": [2], "kinds": ["wide"], "num_stages": 1}
    assert built(one) == {
        "stages.0.layers.0.bias": (3,),
        "stages.0.layers.1.weight": (14,),
        "stages.0.last": (1,),
    }


MANY = {"widths": [1] * 40, "num_stages": 40, "kinds": ["wide"] * 40}


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"depths": [1, 1, 1]}, "widths"),
        ({"widths": [8]}, "widths"),
        ({"num_stages": 3}, "num_stages"),
        ({"depths": [1, 0]}, "depths"),
        ({"depths": [1, -2]}, "depths"),
        ({"depths": [1, 1.5]}, "size|number"),
        ({"depths": [1, "two"]}, "depths"),
        ({"depths": [1, True]}, "depths"),
        ({"depths": [1, 10**9]}, "number of layers"),
        ({**MANY, "depths": [9000] * 40}, "more than can be listed"),
        ({"depths": 2}, "depths"),
        ({"widths": [8, -12]}, "size"),
        ({"kinds": ["wide"], "depths": [1, 2]}, "entry 1"),
        ({"kinds": ["wide", "odd"]}, "kinds"),
    ],
)
def test_what_is_not_known_is_refused_by_its_key(config: dict[str, Any], key: str) -> None:
    with pytest.raises(HfinspectError, match=key):
        built(config)


def test_a_size_shows_which_entry_it_is() -> None:
    root = builders(STAGED)["StagedModel"](ModelConfig({}))
    stage: Any = root["stages"].children["1"]  # type: ignore[union-attr]
    down = stage["down"]["weight"].shape
    bias = stage["layers"]["0"]["bias"].shape
    assert [str(expr_of(n)) for n in down] == ["widths[1]", "widths[0]"]
    assert str(expr_of(bias[0])) == "embed_dim * 2"


def test_a_place_is_known_inside_its_list_alone() -> None:
    nodes = [
        *STAGED["nodes"][:4],
        {
            "class": "StagedModel",
            "in": {**STAGED["nodes"][4]["in"], "norm": [["[]", "widths", "stage"]]},
        },
    ]
    with pytest.raises(ConfigError, match="stage"):
        built({}, {**STAGED, "nodes": nodes})


def test_lists_of_stages_may_stand_in_one_another() -> None:
    inner = {
        "class": "ModuleList",
        "count": ["[]", "depths", "stage"],
        "place": "level",
        "pick": [[None, 0]],
    }
    nodes = [
        {"class": "Conv1d", "in": {"weight": [["+", ["[]", "widths", "stage"], "level"]]}},
        {"class": "Stage", "in": {"levels": inner}},
        {
            "class": "StagedModel",
            "in": {
                "stages": {
                    "class": "ModuleList",
                    "count": ["len", "depths"],
                    "place": "stage",
                    "pick": [[None, 1]],
                }
            },
        },
    ]
    trace = {**STAGED, "nodes": nodes, "classes": {"StagedModel": {"root": 2, "guards": 0}}}
    assert built({}, trace) == {
        "stages.0.levels.0.weight": (8,),
        "stages.0.levels.1.weight": (9,),
        "stages.1.levels.0.weight": (12,),
    }


#: A norm for each map that is handed on, as wide as the stage before it.
BACKBONE: dict[str, Any] = {
    **STAGED,
    "classes": {"StagedModel": {"root": 1, "guards": 0}},
    "nodes": [
        {
            "class": "LayerNorm",
            "in": {
                "weight": {
                    "if": ["==", "stage", 0],
                    "then": ["embed_dim"],
                    "else": [["[]", "widths", ["-", "stage", 1]]],
                }
            },
        },
        {
            "class": "StagedModel",
            "in": {
                "norms": {
                    "class": "ModuleDict",
                    "count": ["+", ["len", "depths"], 1],
                    "place": "stage",
                    "names": True,
                    "pick": [[["chosen", "stage", ["+", ["len", "depths"], 1]], 0]],
                }
            },
        },
    ],
}


@pytest.mark.parametrize(
    ("config", "norms"),
    [
        ({}, {"stage2": 12}),
        ({"out_features": ["stem", "stage1"]}, {"stem": 3, "stage1": 8}),
        ({"out_indices": [0, -1]}, {"stem": 3, "stage2": 12}),
        ({"out_indices": (1,)}, {"stage1": 8}),
    ],
)
def test_maps_that_a_backbone_hands_on(config: dict[str, Any], norms: dict[str, int]) -> None:
    assert built(config, BACKBONE) == {f"norms.{name}.weight": (n,) for name, n in norms.items()}


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"out_features": ["stage3"]}, "out_features"),
        ({"out_indices": [3]}, "out_indices"),
        ({"out_indices": "last"}, "out_indices"),
        ({**MANY, "depths": [1] * 40}, "stages"),
    ],
)
def test_a_map_of_no_stage_is_refused(config: dict[str, Any], key: str) -> None:
    with pytest.raises(HfinspectError, match=key):
        built(config, BACKBONE)


_NUMBERS = st.integers(-3, 10**12) | st.floats() | st.none() | st.booleans() | st.text(max_size=3)


@given(
    st.dictionaries(
        st.sampled_from([*STAGED["defaults"], "stage", "i", "out_features", "out_indices"]),
        _NUMBERS | st.lists(_NUMBERS, max_size=6),
    )
)
@settings(max_examples=examples(60), deadline=None)
def test_any_lists_are_answered_or_refused(config: dict[str, Any]) -> None:
    for trace in (STAGED, BACKBONE):
        with contextlib.suppress(HfinspectError):
            built(config, trace)
