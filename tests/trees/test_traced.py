"""Families as data: exact for what was recorded, refused by the key's name elsewhere."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hfinspect
from hfinspect.core.config import ModelConfig
from hfinspect.core.dims import expr_of
from hfinspect.errors import ConfigError, HfinspectError
from hfinspect.trees.cache_layout import KeysValues, State, Unknown
from hfinspect.trees.catalog import (
    builder,
    find_class,
    find_type,
    index,
    traced_family,
    traced_files,
)
from hfinspect.trees.expand import expected_tensors
from hfinspect.trees.modules import Layers, Module
from hfinspect.trees.prediction import predict
from hfinspect.trees.traced import builders
from tests.architectures.recordings import digest, line

from ..examples import examples
from ..oracle_folder import ORACLE
from ..some_rows import one_of

ROOT = Path(__file__).resolve().parents[2]
RECORDED = sorted((ORACLE / "traced").glob("*.json"))
TRACES = ROOT / "hfinspect" / "architectures" / "traced"

#: A family in small: a list, a choice, a tie, a computed default and guards.
SMALL: dict[str, Any] = {
    "model_type": "small",
    "category": "encoder",
    "base": "SmallModel",
    "base_prefix": "",
    "classes": {"SmallModel": {"root": 2, "guards": 0}},
    "guards": [
        {
            "act": {"is": ["gelu", "relu"]},
            "width": {"least": 1},
            "sizes": {"length": 2},
            "kinds": {"of": ["full", "sliding"]},
            "old_key": {"absent": True},
        }
    ],
    "defaults": {
        "act": "gelu",
        "width": 8,
        "heads": 2,
        "depth": 2,
        "bias": True,
        "sizes": [3, 5],
        "head_dim": {"of": ["//", "width", "heads"]},
        "kinds": ["full", "sliding"],
    },
    "nodes": [
        {
            "class": "Linear",
            "as": "attention",
            "in": {
                "weight": [["*", "heads", "head_dim"], "width"],
                "bias": {"if": ["true", "bias"], "then": [["*", "heads", "head_dim"]]},
            },
        },
        {
            "class": "Wide",
            "window": "depth",
            "keeps": [
                {"key": ["*", "heads", "head_dim"], "value": "width", "heads": "heads"},
                {"name": "conv", "shape": ["width", 4], "dtype": "F32"},
            ],
            "in": {"weight": [["[]", "sizes", 1], ["int", ["*", "width", 1.5]]]},
        },
        {
            "class": "SmallModel",
            "in": {
                "emb": {"class": "Embedding", "as": "embedding", "in": {"weight": [10, "width"]}},
                "out": {
                    "class": "Linear",
                    "in": {"weight": {"shape": [10, "width"], "tied": "emb.weight"}},
                },
                "layers": {
                    "class": "ModuleList",
                    "count": "depth",
                    "layers": True,
                    "pick": [
                        [["kind", "kinds", "i"], 0] if False else [["==", "i", 0], 0],
                        [None, 1],
                    ],
                },
            },
        },
    ],
}


def built(config: dict[str, Any], trace: dict[str, Any] = SMALL) -> dict[str, tuple[int, ...]]:
    root = builders(trace)["SmallModel"](ModelConfig(config))
    return {s.name: s.shape for s in expected_tensors(root) if s.tied_to is None}


COMPOSITE: dict[str, Any] = {
    **SMALL,
    "model_type": "composite",
    "classes": {
        "CompositeModel": {"root": 1, "guards": 0},
        "CompositeHead": {"root": 3, "guards": 0},
    },
    "guards": [{}],
    "absent": {"vision_config": {"hidden_size": 48, "num_hidden_layers": 1}},
    "defaults": {"vision_config.hidden_size": 768},
    "nodes": [
        {"class": "Linear", "in": {"weight": [7, "vision_config.hidden_size"]}},
        {
            "class": "CompositeModel",
            "in": {
                "tower": {"section": "vision_config", "class": "ViTModel", "part": "vision"},
                "out": 0,
            },
        },
        {"class": "Linear", "in": {"weight": [3, 7]}},
        {
            "class": "CompositeHead",
            "in": {"model": {"section": "", "class": "CompositeModel"}, "head": 2},
        },
    ],
}


def shapes(trace: dict[str, Any], name: str, config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    specs = expected_tensors(builders(trace, builder)[name](ModelConfig(config)))
    return {spec.name: tuple(map(int, spec.shape)) for spec in specs}


def test_tensors_of_older_files_are_known_as_well() -> None:
    """Files written before torch 2 call a normed weight's parts weight_g and weight_v, and files
    of old hold the numbers of positions; a save does not."""
    pair = {"class": "ParametrizationList", "in": {"original0": [10, 1], "original1": [10, 3]}}
    conv = {"class": "ParametrizedConv1d", "in": {"bias": [10], "parametrizations": 1}}
    table = {"class": "Embedding", "in": {"weight": [77, 10]}}
    nodes = [
        pair,
        {"class": "ModuleDict", "in": {"weight": 0}},
        conv,
        table,
        {"class": "SmallModel", "in": {"conv": 2, "position_embeddings": 3}},
    ]
    trace = {**SMALL, "classes": {"SmallModel": {"root": 4, "guards": 0}}, "nodes": nodes}
    specs = expected_tensors(builders(trace)["SmallModel"](ModelConfig({})))
    older = {s.name: s.shape for s in specs if not s.saved}
    assert older == {
        "conv.weight_g": (10, 1),
        "conv.weight_v": (10, 3),
        "position_ids": (1, 77),
    }


def test_a_layer_says_what_it_keeps_and_how_far_it_looks() -> None:
    root = builders(SMALL)["SmallModel"](ModelConfig({"depth": 3, "width": 6}))
    layers = root["layers"]
    assert isinstance(layers, Layers) and layers.windows is not None
    assert list(layers.windows(3)) == [None, 3, 3]
    assert isinstance(layers["1"], Module)
    # What a trace says is refused until the library has shown it.
    assert isinstance((layers["1"].cache or ())[0], Unknown)
    shown = {**SMALL, "classes": {"SmallModel": {"root": 2, "guards": 0, "cache": {}}}}
    root = builders(shown)["SmallModel"](ModelConfig({"depth": 2, "width": 6}))
    block = root["layers"].children["1"]  # type: ignore[union-attr]
    assert isinstance(block, Module)
    assert block.cache == (KeysValues(6, 6, heads=2), State("conv", (6, 4), "F32"))
    assert isinstance(block.cache[0], KeysValues)
    assert str(expr_of(block.cache[0].key)) == "heads * (width // heads)"


@pytest.mark.parametrize("row", [{"key": 3}, {"key": 3, "value": 3, "colour": 1}, {"shape": 3}, 7])
def test_what_no_block_keeps_is_malformed(row: Any) -> None:
    nodes = [*SMALL["nodes"][:1], {**SMALL["nodes"][1], "keeps": [row]}, SMALL["nodes"][2]]
    with pytest.raises(HfinspectError, match="malformed"):
        built({}, {**SMALL, "nodes": nodes})


def test_a_part_is_a_class_of_the_catalog_at_a_section() -> None:
    section = {"model_type": "vit", "hidden_size": 24, "num_attention_heads": 2}
    shape_of = shapes(COMPOSITE, "CompositeHead", {"vision_config": section})
    assert shape_of["model.tower.encoder.layer.11.attention.output.dense.weight"] == (24, 24)
    assert shape_of["model.out.weight"] == (7, 24)
    assert shape_of["head.weight"] == (3, 7)


def test_an_absent_section_is_what_the_composite_makes_of_it() -> None:
    shape_of = shapes(COMPOSITE, "CompositeModel", {})
    assert shape_of["out.weight"] == (7, 48)
    assert shape_of["tower.encoder.layer.0.attention.output.dense.weight"] == (48, 48)
    assert "tower.encoder.layer.1.attention.output.dense.weight" not in shape_of
    assert shapes(COMPOSITE, "CompositeModel", {"vision_config": {}})["out.weight"] == (7, 768)


def test_a_null_section_is_refused() -> None:
    with pytest.raises(HfinspectError, match="vision_config = null"):
        shapes(COMPOSITE, "CompositeModel", {"vision_config": None})


def test_a_trace_is_a_tree_of_the_config() -> None:
    assert built({}) == {
        "emb.weight": (10, 8),
        "layers.0.weight": (8, 8),
        "layers.0.bias": (8,),
        "layers.1.weight": (5, 12),
    }
    shape_of = built({"width": 6, "head_dim": 7, "bias": False, "depth": 1, "sizes": [1, 2]})
    assert shape_of == {"emb.weight": (10, 6), "layers.0.weight": (14, 6)}


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"act": "xielu"}, "act"),
        ({"width": 0}, "width"),
        ({"sizes": [3, 5, 7]}, "sizes"),
        ({"kinds": ["full", "linear"]}, "kinds"),
        ({"old_key": 3}, "old_key"),
        ({"width": "wide"}, "width"),
        ({"depth": 10**6}, "number of layers"),
        ({"heads": 0}, "value"),
        ({"sizes": 7}, "sizes"),
        ({"heads": None}, "heads"),
    ],
)
def test_what_was_not_recorded_is_refused_by_its_name(config: dict[str, Any], key: str) -> None:
    with pytest.raises(HfinspectError, match=key):
        built(config)


def test_a_further_root_answers_what_the_first_refuses() -> None:
    first = {"root": 2, "guards": 0}
    trace = {
        **SMALL,
        "classes": {"SmallModel": {**first, "or": [{"root": 1, "guards": 1}]}},
        "guards": [*SMALL["guards"], {"act": {"is": ["gelu"]}, "sizes": {"length": 3}}],
    }
    assert built({}, trace) == built({})
    assert built({"sizes": [3, 5, 7]}, trace) == {"weight": (5, 12)}
    with pytest.raises(HfinspectError, match="act"):  # the second lacks less
        built({"sizes": [3, 5, 7], "act": "relu", "old_key": 1}, trace)


def test_a_formula_has_the_letters_of_the_config() -> None:
    root = builders(SMALL)["SmallModel"](ModelConfig({}))
    weight = root.children["layers"].children["0"].children["weight"]  # type: ignore[union-attr]
    assert str(weight.shape[0].expr) == "heads * (width // heads)"  # type: ignore[union-attr]


def test_a_size_times_itself_keeps_its_letter() -> None:
    trace = {
        **SMALL,
        "nodes": [
            *SMALL["nodes"][:2],
            {
                "class": "SmallModel",
                "in": {"weight": [["**", "width", 2], ["**", 2, "depth"]]},
            },
        ],
    }
    weight = builders(trace)["SmallModel"](ModelConfig({})).children["weight"]
    rows, columns = weight.shape  # type: ignore[union-attr]
    assert (str(expr_of(rows)), rows, columns) == ("width * width", 64, 4)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(SMALL["defaults"])), _VALUES))
@settings(max_examples=examples(60), deadline=None)
def test_any_config_is_answered_or_refused(config: dict[str, Any]) -> None:
    with contextlib.suppress(HfinspectError):
        built(config)


@given(st.data())
@settings(max_examples=examples(120), deadline=None)
def test_a_malformed_trace_is_refused(data: st.DataObject) -> None:
    trace = json.loads(json.dumps(SMALL))
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = trace[data.draw(st.sampled_from(["nodes", "guards", "defaults", "classes"]))]
        for _ in range(data.draw(st.integers(0, 8))):
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            inner = place[data.draw(st.sampled_from(keys))] if keys else None
            if not isinstance(inner, (dict, list)) or not inner:
                break
            place = inner
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        place[data.draw(st.sampled_from(keys))] = data.draw(_VALUES)
    try:
        for build in builders(trace).values():
            expected_tensors(build(ModelConfig({})))
    except HfinspectError:
        pass


def wrong(path: Path, *, every: bool) -> list[str]:
    """Recordings of a trace that it does not give: of each class the first, or every one."""
    reasons = []
    for label, record in json.loads(path.read_text())["recordings"].items():
        if not every and not label.endswith("-0"):
            continue
        head: dict[str, Any] = {"_class_name": record["architecture"]}
        if record["library"] == "timm":
            head = {}
        elif record["library"] != "diffusers":
            head = {
                "model_type": record["model_type"],
                "architectures": [record["architecture"]],
                "transformers_version": record["version"],
            }
        said = predict({**head, **record["given"]})
        lines = [line(spec.name, spec.shape) for spec in said.tensors]
        if (len(lines), digest(lines), said.parameters) != (
            record["count"],
            record["digest"],
            record["parameters"],
        ):
            reasons.append(label)
    return reasons


@pytest.mark.parametrize("path", one_of(2, RECORDED), ids=lambda path: str(path.stem))
def test_recorded_builds(path: Path) -> None:
    assert wrong(path, every=False) == [], advice(path)


@pytest.mark.all_recordings
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: str(path.stem))
def test_every_recorded_build(path: Path) -> None:
    assert wrong(path, every=True) == [], advice(path)


def advice(path: Path) -> str:
    return (
        "these recordings are answered otherwise than the library saves them. A trace is not "
        f"changed by hand: python -m tests.oracle trace --again {path.stem}"
    )


def test_only_the_trace_that_is_wanted_is_read() -> None:
    assert {file for file in index().types.values() if file.startswith("traced/")} <= {
        *traced_files()
    }
    family = find_type("pvt")
    assert family is not None and family.file == "traced/pvt"


def test_a_null_is_no_default() -> None:
    """PatchTST with ``"loss": null`` has another head; a null that no build had is refused."""
    with pytest.raises(HfinspectError, match="act = null"):
        built({"act": None})


@pytest.mark.parametrize(
    ("size", "rows"), [(32, (4, 4)), ([32, 48], (4, 6)), ((16, 8), (2, 1)), (None, (2, 2))]
)
def test_two_sides_are_one_number_or_two(size: Any, rows: tuple[int, ...]) -> None:
    trace = {
        **SMALL,
        "defaults": {"image_size": 16},
        "guards": [{"image_size": {"least": 1, "pair": True}}],
        "classes": {"SmallModel": {"root": 0, "guards": 0}},
        "nodes": [
            {
                "class": "SmallModel",
                "in": {
                    "grid": [
                        ["//", ["pair", "image_size", 0], 8],
                        ["//", ["pair", "image_size", 1], 8],
                    ]
                },
            }
        ],
    }
    assert built({} if size is None else {"image_size": size}, trace) == {"grid": rows}
    for wrong in ([32], [32, 48, 64], [32, 0], "32"):
        with pytest.raises(HfinspectError, match="image_size"):
            built({"image_size": wrong}, trace)


def test_positions_that_older_files_hold_are_known_and_not_expected() -> None:
    """A BERT or CLIP of 2022 holds ``position_ids`` next to the table: no surplus tensor."""
    table = {"class": "Embedding", "kind": "position", "in": {"weight": [9, "width"]}}
    trace = {
        **SMALL,
        "guards": [{}],
        "classes": {"SmallModel": {"root": 1, "guards": 0}},
        "nodes": [table, {"class": "SmallModel", "in": {"position_embeddings": 0}}],
    }
    tree = builders(trace)["SmallModel"](ModelConfig({}))
    table_spec, ids = expected_tensors(tree)
    assert (table_spec.name, table_spec.saved) == ("position_embeddings.weight", True)
    assert (ids.name, ids.shape, ids.dtype, ids.saved) == ("position_ids", (1, 9), "I64", False)


def test_a_null_may_be_a_value_of_its_own() -> None:
    nodes = [
        {"if": ["null", "width"], "then": [3], "else": ["width"]},
        {"class": "SmallModel", "in": {"table": 0}},
    ]
    trace = {**SMALL, "classes": {"SmallModel": {"root": 1, "guards": 0}}, "nodes": nodes}
    null = {"width": None}
    with pytest.raises(HfinspectError, match="width = null"):
        built(null, trace)
    known = {**trace, "guards": [{"width": {"least": 1, "null": True}}]}
    assert built(null, known) == {"table": (3,)}
    assert built({"width": 5}, known) == {"table": (5,)}


def test_further_types_and_prefixes_of_files() -> None:
    family = traced_family({**SMALL, "also": ["smaller"], "aliases": {"old.": ""}})
    assert family.model_types == ("small", "smaller")
    assert family.aliases == {"old.": ""}


def test_a_list_is_no_flag() -> None:
    with pytest.raises(ConfigError, match="bias") as raised:
        built({"bias": [True, False]})
    assert raised.value.key == "bias"


def test_a_buffer_of_older_files_is_known_and_not_saved() -> None:
    old = {"shape": [1, "width"], "buffer": True, "dtype": "I64", "saved": False}
    trace = {**SMALL, "nodes": [{"class": "Small", "in": {"old": old, "new": ["width"]}}]}
    trace["classes"] = {"SmallModel": {"root": 0, "guards": 0}}
    root = builders(trace)["SmallModel"](ModelConfig({"width": 8}))
    assert [(s.name, s.shape, s.saved) for s in expected_tensors(root)] == [
        ("old", (1, 8), False),
        ("new", (8,), True),
    ]


def test_a_class_of_diffusers_is_found_by_its_name() -> None:
    family = find_class("WanTransformer3DModel")
    assert family is not None
    assert (family.model_types, family.source, family.category) == ((), "diffusers", "diffusion")
    small = {"_class_name": "WanTransformer3DModel", "num_layers": 1}
    without = predict({**small, "cross_attn_norm": False}).parameters
    assert predict(small).parameters - without == 2 * 40 * 128
    with pytest.raises(HfinspectError, match="qk_norm"):
        predict({**small, "qk_norm": "something_else"})


def test_a_trace_explains_with_the_keys_of_the_config() -> None:
    config = {
        "model_type": "pvt",
        "architectures": ["PvtModel"],
        "hidden_sizes": [64, 128, 320, 512],
    }
    text = hfinspect.explain(config).to_dict()
    assert "hidden_sizes[0]" in json.dumps(text)


def test_no_trace_says_of_a_section_s_tensors_what_they_are() -> None:
    """A classifier's node with the base model below it would make the whole model a classifier."""
    for file in sorted(TRACES.glob("*.json")):
        for node in json.loads(file.read_text(encoding="utf-8"))["nodes"]:
            inner = node.get("in", {}).values() if isinstance(node, dict) else ()
            if any(isinstance(child, dict) and "section" in child for child in inner):
                assert not node.keys() & {"as", "kind"}, (file.stem, node["class"])
