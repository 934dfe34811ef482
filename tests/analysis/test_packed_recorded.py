"""Small FP8 models as transformers saves them (tests/oracle/record_packed.py), predicted from
their configs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hfinspect.analysis.quantization.packing import packing
from hfinspect.trees.prediction import predict

from ..oracle_folder import ORACLE

CASES: list[dict[str, Any]] = json.loads((ORACLE / "packed.json").read_text())


def written(case: dict[str, Any]) -> dict[str, tuple[str, tuple[int, ...]]]:
    found = {}
    for line in case["tensors"]:
        name, dtype, shape = line.split()
        sizes = () if shape == "scalar" else tuple(map(int, shape.split("x")))
        found[name] = (dtype, sizes)
    return found


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
def test_the_config_predicts_what_was_saved(case: dict[str, Any]) -> None:
    """Names, dtypes and shapes; of floats that stay as they are the width is not compared."""
    found = packing(predict(case["config"]), case["config"])
    assert found is not None
    assert found.specs is not None, found.findings
    predicted = {s.name: (s.dtype or found.dtype, s.shape) for s in found.tensors}
    stored = written(case)
    assert predicted.keys() == stored.keys()
    wide = {"F32", "BF16"}
    for name, (dtype, shape) in predicted.items():
        assert shape == stored[name][1], name
        if not {dtype, stored[name][0]} <= wide:
            assert dtype == stored[name][0], name


def test_experts_of_one_kind_in_one_tensor() -> None:
    """Step-3.7: gate_proj.weight (experts, out, in), as its FP8 release is read."""
    config = fp8("step3p7")
    config["quantization_config"]["modules_to_not_convert"] = ["vision_model", "lm_head"]
    found = packing(predict(config), config)
    assert found is not None
    assert found.specs is not None, found.findings
    tensors = {spec.name: (spec.dtype, spec.shape) for spec in found.tensors}
    name = next(name for name in tensors if name.endswith("moe.gate_proj.weight"))
    experts, out, inputs = tensors[name][1]
    assert tensors[name][0] == "F8_E4M3"
    assert tensors[f"{name}_scale_inv"] == ("F32", (experts, out // 128, inputs // 128))


def fp8(model_type: str, **sizes: object) -> dict[str, Any]:
    return {
        "model_type": model_type, "torch_dtype": "bfloat16", **sizes,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (fp8("step3p7"), "it does not list"),
        (fp8("gpt_oss", num_hidden_layers=1), "down_proj, down_proj_bias, gate_up_proj"),
        (fp8("granitemoe", num_hidden_layers=1), "weight"),
    ],
)
def test_experts_that_transformers_does_not_pack_are_unknown(
    config: dict[str, Any], reason: str
) -> None:
    found = packing(predict(config), config)
    assert found is not None
    assert found.specs is None
    assert reason in found.findings[0].text


def test_mxfp4_is_known_of_gpt_oss_alone() -> None:
    """transformers replaces the experts of no other class, whatever a config says."""
    config = fp8("qwen3_moe", num_hidden_layers=1)
    config["quantization_config"] = {"quant_method": "mxfp4"}
    found = packing(predict(config), config)
    assert found is not None
    assert found.specs is None
    assert "gpt-oss" in found.findings[0].text
