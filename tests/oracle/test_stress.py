"""What is tried of a trace, without the library."""

from __future__ import annotations

from random import Random

from .stress import KEPT_OUT, SIZES, changed, trials


def test_parallel_lists_change_their_length_together() -> None:
    config = {"depths": [2, 2, 6], "hidden_sizes": [8, 16, 32], "image": [4, 4]}
    for seed in range(40):
        made = changed(config, Random(seed), 5, 3)
        assert len(made["depths"]) == len(made["hidden_sizes"]) == 5
        assert len(made["image"]) == 2
        assert min(*made["depths"], *made["hidden_sizes"]) >= 1


def test_sizes_change_and_the_config_given_stays() -> None:
    config = {"width": 24, "section": {"heads": 4}, "bias": True, "act": "gelu", "none": None}
    made = [changed(config, Random(seed), None, 0) for seed in range(200)]
    assert {one["width"] for one in made} - {24, 25, 12, 48, 72} <= set(SIZES)
    assert len({one["width"] for one in made}) > 5
    assert len({one["section"]["heads"] for one in made}) > 2
    assert {(one["act"], one["none"]) for one in made} == {("gelu", None)}
    assert config["width"] == 24


def test_trials_of_a_trace_leave_out_what_says_which_model_it_is() -> None:
    found = trials("swin", Random(1))
    for record, config in (next(found) for _ in range(20)):
        assert record["architecture"].startswith("Swin")
        assert KEPT_OUT.isdisjoint(config)
