"""Configs that say nonsense: an exact answer or an error of ours that names the key, never a crash,
and never work in proportion to an absurd number.

Every key of every second type has one absurd value; with ``pytest -m all_recordings`` the
other types too, and each key a second one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hfinspect.core.config_keys import keys_of
from hfinspect.errors import ConfigError, LimitError, UnknownArchitectureError
from hfinspect.sizing.kv_cache import cached_layers
from hfinspect.trees import catalog
from hfinspect.trees.prediction import predict

from . import recordings

ABSURD: tuple[Any, ...] = (
    -1,
    0,
    10**12,
    "seven",
    float("nan"),
    float("inf"),
    [1],
    [],
    None,
    True,
    {},
    2.5,
    {"a": 1},
)


def first_of_each_type() -> dict[str, dict[str, Any]]:
    chosen: dict[str, dict[str, Any]] = {}
    for _, _, record in recordings.everything():
        if not recordings.is_default(record):
            chosen.setdefault(record["model_type"] or record["architecture"], record)
    return chosen


def variants(config: dict[str, Any], turn: int) -> list[tuple[str, dict[str, Any]]]:
    """Every key with one absurd value, in turn, so that all families together see all."""
    changes = []
    for i, (key, value) in enumerate(config.items()):
        if key in ("model_type", "architectures", "_class_name"):
            continue
        changes.append((key, {**config, key: ABSURD[(turn + i) % len(ABSURD)]}))
        if isinstance(value, dict) and value:
            changes += [(key, {**config, key: inner}) for _, inner in variants(value, turn + i)]
        if isinstance(value, list) and value:
            inside = [*value[:-1], ABSURD[(turn + i) % len(ABSURD)]]
            changes.append((key, {**config, key: inside}))
    return changes


def seeing_types() -> list[str]:
    """Types whose class holds another model of their config's choice to see with."""
    types = (t for family in catalog.families() for t in family.model_types)
    return sorted(t for t in types if "backbone_config" in keys_of(t).sections)


@pytest.mark.parametrize("model_type", seeing_types())
def test_a_backbone_in_another_repo_is_not_guessed(model_type: str) -> None:
    elsewhere = {"backbone": "microsoft/resnet-101", "use_timm_backbone": False}
    with pytest.raises(UnknownArchitectureError, match=r"backbone: is 'microsoft/resnet-101'"):
        predict({"model_type": model_type, **elsewhere})


@pytest.mark.parametrize("path", ["", "text_config."])
def test_layers_of_their_own_sizes_are_not_taken_for_equal_ones(path: str) -> None:
    own = {"per_layer_config": {"1": {"intermediate_size": 64}}}
    config = {"model_type": "llava", "text_config": own} if path else {"model_type": "llama", **own}
    with pytest.raises(UnknownArchitectureError, match=f"{path}per_layer_config"):
        predict(config)
    own["per_layer_config"]["1"] = {"sliding_window": 64}  # which has no tensors
    assert predict(config).parameters


def test_heads_taken_out_of_layers_are_not_counted() -> None:
    config = {"model_type": "bert", "pruned_heads": {"0": []}}
    assert predict(config).parameters
    with pytest.raises(UnknownArchitectureError, match="pruned_heads"):
        predict({**config, "pruned_heads": {"0": [1, 2]}})


CASES = [
    pytest.param(record, i, id=name, marks=[pytest.mark.all_recordings] if i % 2 else [])
    for i, (name, record) in enumerate(first_of_each_type().items())
]


@pytest.mark.parametrize(("record", "turn"), CASES)
def test_absurd_values_never_crash(record: dict[str, Any], turn: int) -> None:
    config = recordings.spellings(record)["given"]
    for key, changed in variants(config, turn):
        assert sane(changed), key


@pytest.mark.all_recordings
@pytest.mark.parametrize("part", range(8))
def test_other_absurd_values_never_crash(part: int) -> None:
    """A second value of each key, of the types in eight parts."""
    for i, (name, record) in list(enumerate(first_of_each_type().items()))[part::8]:
        config = recordings.spellings(record)["given"]
        for key, changed in variants(config, i + 7):
            assert sane(changed), (name, key)


def sane(config: dict[str, Any]) -> bool:
    try:
        prediction = predict(config)
        return prediction.parameters >= 0 and cached_layers(prediction.root) is not None
    except ConfigError as error:
        # Of a size that a trace computes of several keys the class is named, and no key.
        return bool(error.key) or "a size that" in str(error)
    except (LimitError, UnknownArchitectureError):
        return True


@pytest.mark.parametrize("model_type", ["mamba", "falcon_mamba"])
def test_a_mixer_of_no_width(model_type: str) -> None:
    with pytest.raises(ConfigError, match="expand"):
        predict({"model_type": model_type, "hidden_size": 64, "expand": 1e-5})


@pytest.mark.parametrize("turn", range(len(ABSURD)))
def test_absurd_model_types(turn: int) -> None:
    """No name of a model type: a config error; an unknown name: an unknown architecture."""
    labelled = {"model_type": "llama", "architectures": ["LlamaForSequenceClassification"]}
    for config in (
        {"model_type": ABSURD[turn]},
        {"architectures": ABSURD[turn]},
        {"model_type": "llama", "architectures": ABSURD[turn]},
        {**labelled, "id2label": ABSURD[turn]},
    ):
        try:
            prediction = predict(json.loads(json.dumps(config)))
        except (ConfigError, UnknownArchitectureError):
            continue
        assert prediction.model_type == "llama"


def test_a_patch_of_one_pixel_has_no_plan_of_steps() -> None:
    """There is nothing between its pixels and its vector; the library fails to build it."""
    config = {"model_type": "inkling_vision", "patch_size": 1, "temporal_patch_size": 1}
    with pytest.raises(ConfigError, match="patch_size"):
        predict(config)


@pytest.mark.parametrize("model_type", ["d_fine", "deimv2"])
@pytest.mark.parametrize("index", [2, -3])
def test_boxes_count_after_a_layer_that_there_is(model_type: str, index: int) -> None:
    config = {"model_type": model_type, "decoder_layers": 2, "eval_idx": index}
    with pytest.raises(ConfigError, match="eval_idx"):
        predict(config)


@pytest.mark.parametrize("model_type", ["modernbert", "modernbert-decoder", "lfm3_vl_vision"])
def test_a_list_of_layers_has_a_word_for_each(model_type: str) -> None:
    small = {"model_type": model_type, "layer_types": ["full_attention"] * 3}
    assert predict({**small, "num_hidden_layers": 3}).parameters
    with pytest.raises(ConfigError, match=r"layer_types.*one for each of 2 layers"):
        predict({**small, "num_hidden_layers": 2})


def test_flags_that_exclude_each_other() -> None:
    crossing = {"model_type": "gpt_bigcode", "add_cross_attention": True, "n_layer": 2}
    assert predict({**crossing, "multi_query": False}).parameters
    with pytest.raises(UnknownArchitectureError, match="add_cross_attention"):
        predict(crossing)


@pytest.mark.parametrize("model_type", ["bert", "electra", "roc_bert", "big_bird"])
def test_only_decoders_attend_to_another_model(model_type: str) -> None:
    small = {"model_type": model_type, "num_hidden_layers": 1, "add_cross_attention": True}
    assert predict({**small, "is_decoder": True}).parameters
    with pytest.raises((ConfigError, UnknownArchitectureError), match="add_cross_attention"):
        predict(small)
