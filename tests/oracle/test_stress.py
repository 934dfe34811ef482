"""What is tried of a trace, without the library."""

from __future__ import annotations

from random import Random
from typing import Any

from .resizing import KEPT_OUT, SIZES, of_timm, resized
from .stress import cut_down, put, recordings, trials, with_unlisted


def test_parallel_lists_change_their_length_together_with_what_counts_them() -> None:
    config = {
        "depths": [2, 2, 6],
        "hidden_sizes": [8, 16, 32],
        "image": [4, 4],
        "num_stages": 3,
        "stage_names": ["stem", "stage1", "stage2"],
        "kinds": ["a", "b", "a"],
    }
    lengths = set()
    for seed in range(200):
        made = resized(config, Random(seed))
        length = len(made["depths"])
        assert len(made["hidden_sizes"]) == len(made["kinds"]) == length
        assert len(made["image"]) == 2 and made["stage_names"] == config["stage_names"]
        assert min(*made["depths"], *made["hidden_sizes"]) >= 1
        lengths.add((length, made["num_stages"] == length))
    assert {(n, True) for n in range(1, 6)} < lengths and (3, False) in lengths


def test_sizes_change_and_the_config_given_stays() -> None:
    config = {"width": 24, "section": {"heads": 4}, "bias": True, "act": "gelu", "none": None}
    made = [resized(config, Random(seed)) for seed in range(200)]
    assert {one["width"] for one in made} - {24, 25, 12, 48, 72} <= set(SIZES)
    assert len({one["width"] for one in made}) > 5
    assert len({one["section"]["heads"] for one in made}) > 2
    assert {(one["act"], one["none"]) for one in made} == {("gelu", None)}
    assert config["width"] == 24


def test_what_is_built_one_by_one_stays_small() -> None:
    config = {"num_hidden_layers": 2, "num_experts": 8, "moe_intermediate_size": 64}
    made = [resized(config, Random(seed)) for seed in range(300)]
    assert max(one["num_hidden_layers"] for one in made) == 52  # but few are so deep
    assert sorted(one["num_hidden_layers"] for one in made)[270] <= 12
    assert max(one["num_experts"] for one in made) == 12
    assert max(one["moe_intermediate_size"] for one in made) == 192


def test_a_difference_is_cut_down_to_the_keys_that_it_needs() -> None:
    base = {"a": 1, "section": {"b": 2, "c": [3]}, "d": True}
    config = {"a": 4, "section": {"b": 5, "c": [6, 6]}, "d": False}
    changes = {("a",): 4, ("section", "b"): 5, ("section", "c"): [6, 6], ("d",): False}
    assert put(base, changes) == config

    def differs(values: dict[str, Any]) -> bool:
        return bool(values["section"]["b"] == 5 and not values["d"])

    assert cut_down(base, config, differs) == {"section.b": 5, "d": False}


def test_trials_of_a_trace_leave_out_what_says_which_model_it_is() -> None:
    records = recordings("traced", "swin", "transformers")
    cases = trials(records, Random(1), lambda record: [record["given"], {"model_type": "swin"}])
    for record, base, config in (next(cases) for _ in range(20)):
        assert record["architecture"].startswith("Swin")
        assert KEPT_OUT.isdisjoint(config) and base.keys() == config.keys()


def test_only_recordings_with_a_config_are_begun_with() -> None:
    assert all("given" in record for record in recordings("written", "bart", "transformers"))
    assert not recordings("written", "bart", "diffusers")


def test_configs_of_timm_say_classes_in_every_place() -> None:
    made = [of_timm("resnet50", Random(seed)) for seed in range(200)]
    places: list[Any] = [None, "pretrained_cfg", "model_args"]
    for place in places:
        assert any("num_classes" in (one.get(place, {}) if place else one) for one in made)
    assert any("pretrained_cfg" not in one and "input_size" in one for one in made)


def test_keys_that_no_config_class_lists_are_tried_of_each_class() -> None:
    records = [{"architecture": name, "given": {"width": 8}} for name in ("A", "A", "B")]
    cases = list(with_unlisted(records, lambda _: {"head": [16, True], "text.head": [16]}))
    assert [record["architecture"] for record, _, _ in cases] == ["A", "A", "B", "B"]
    assert [config for _, _, config in cases[:2]] == [
        {"width": 8, "head": 16},
        {"width": 8, "text": {"head": 16}},
    ]
