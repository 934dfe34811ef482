"""From a symbolic tree to the JSON of a trace: what is said where."""

from __future__ import annotations

from typing import Any

from .tracing.compared_numbers import against_zero
from .tracing.writing import Table


def leaf(kind: str | None) -> dict[str, Any]:
    return {"shape": [2], "label": ("head", "text", kind)}


def test_what_all_tensors_of_a_module_are_is_said_once() -> None:
    table = Table()
    tree = {"class": "Head", "in": {"weight": leaf("classifier"), "bias": leaf("classifier")}}
    table.root(tree, "text")
    assert table.nodes[-1] == {
        "class": "Head",
        "as": "head",
        "kind": "classifier",
        "in": {"weight": [2], "bias": [2]},
    }


def test_a_part_is_not_what_its_neighbour_is() -> None:
    """The base model below a classifier is no classifier."""
    table = Table()
    base = {"section": "", "class": "BaseModel"}
    tree = {
        "class": "Whole",
        "in": {"base": base, "out": {"class": "Linear", "in": {"weight": leaf("classifier")}}},
    }
    table.root(tree, "text")
    whole = table.nodes[-1]
    assert "kind" not in whole and "as" not in whole
    assert whole["in"]["base"] == base


def test_a_tower_below_a_projector_is_none() -> None:
    table = Table()
    out = {"shape": [2], "label": ("projector", "projector", None)}
    tree = {
        "class": "Whole",
        "in": {
            "text_model": {"section": "", "class": "TextModel"},
            "projection": {"class": "Linear", "in": {"weight": out}},
        },
    }
    table.root(tree, "text")
    parts = {node["class"]: node.get("part") for node in table.nodes}
    assert parts == {"Whole": None, "Linear": "projector"}


def test_a_section_of_speech_is_audio() -> None:
    table = Table()
    keys = ("vision_config", "speech_config", "text_config")
    parts = {key: {"section": key, "class": "Encoder"} for key in keys}
    table.root({"class": "Whole", "in": parts}, "text")
    said = [node.get("part") for node in table.nodes[-1]["in"].values()]
    assert said == ["vision", "audio", None]


def test_a_text_decoder_of_an_audio_family_stays_text() -> None:
    """What is known to be text is text; of what nothing is known it is the family's part."""
    table = Table()
    shape = {"shape": [2]}
    text = {**shape, "label": ("mlp", "text", None)}
    tree = {
        "class": "Whole",
        "in": {
            "encoder": {
                "class": "Encoder",
                "in": {"weight": {**shape, "label": ("mlp", "", None)}},
            },
            "decoder": {"class": "Decoder", "in": {"weight": text}},
        },
    }
    table.root(tree, "audio")
    parts = {node["class"]: node.get("part") for node in table.nodes}
    assert parts == {"Whole": None, "Encoder": "audio", "Decoder": None}


def test_a_share_that_is_compared_with_nothing_is_tried_at_nothing() -> None:
    compared = [["<", 0.0, "mask_time_prob"], ["<", "depth", 4], ["in", "kind", 0]]
    assert against_zero(compared) == {"mask_time_prob"}
