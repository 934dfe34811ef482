"""Layers that predict further tokens: what files hold of them stays apart from the class."""

from __future__ import annotations

from typing import Any

import pytest

from hfinspect.core.components import Role
from hfinspect.trees.prediction import predict

from . import recordings

#: Family file -> the key that counts such layers, in the text section of composites.
COUNTED_BY = {
    "deepseek_v3": "num_nextn_predict_layers",
    "deepseek_v32": "num_nextn_predict_layers",
    "deepseek_v4": "num_nextn_predict_layers",
    "ernie4_5_moe": "num_nextn_predict_layers",
    "exaone_moe": "num_nextn_predict_layers",
    "glm4_moe": "num_mtp_layers",
    "glm4_moe_lite": "num_nextn_predict_layers",
    "glm4v_moe": "num_nextn_predict_layers",
    "glm_moe_dsa": "num_nextn_predict_layers",
    "hy_v3": "num_nextn_predict_layers",
    "kimi_k25": "num_nextn_predict_layers",
    "longcat_flash": "num_nextn_predict_layers",
    "mimo_v2_flash": "num_mtp_layers",
    "nemotron_h": "num_nextn_predict_layers",
    "qwen3_5": "mtp_num_hidden_layers",
    "qwen3_5_moe": "mtp_num_hidden_layers",
    "qwen3_next": "mtp_num_hidden_layers",
    "solar_open": "num_nextn_predict_layers",
    "step3p7": "num_nextn_predict_layers",
}


@pytest.mark.parametrize(("family", "key"), COUNTED_BY.items())
def test_they_change_nothing_of_the_class(family: str, key: str) -> None:
    """Not its tensors, not its active parameters; what is more is of kind mtp, all of it."""
    compared = 0
    for record in recordings.of(family).values():
        if recordings.is_default(record):
            continue
        given = recordings.spellings(record)["given"]
        if key in given or key in (given.get("text_config") or {}):
            continue  # its lists of layers may count on that number
        without, some = (predict(with_layers(given, key, count)) for count in (0, 2))
        assert some.tensors == without.tensors
        assert some.active_parameters == without.active_parameters
        before = {spec.name for spec in without.specs}
        more = [spec for spec in some.extras if spec.name not in before]
        assert {spec.part for spec in more if spec.role is Role.PARAMETER} <= {"mtp"}
        compared += bool(more)
    assert compared


def with_layers(config: dict[str, Any], key: str, count: int) -> dict[str, Any]:
    section = config.get("text_config")
    if isinstance(section, dict):
        return {**config, "text_config": {**section, key: count}}
    return {**config, key: count}
