"""Small packed models as transformers saves them (tests/oracle/record_packed.py), predicted from
their configs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.analysis.quantization.packing import packing
from hfinspect.trees.prediction import predict

from ..oracle_folder import ORACLE
from .test_packing import facts
from .test_quantization import write
from .twins import Twin

CASES: list[dict[str, Any]] = json.loads((ORACLE / "packed.json").read_text())


def written(case: dict[str, Any]) -> dict[str, tuple[str, tuple[int, ...]]]:
    tensors = {}
    for line in case["tensors"]:
        name, dtype, shape = line.split()
        sizes = () if shape == "scalar" else tuple(map(int, shape.split("x")))
        tensors[name] = (dtype, sizes)
    return tensors


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
def test_the_config_predicts_what_was_saved(case: dict[str, Any]) -> None:
    """Names, dtypes and shapes; of floats that stay as they are the width is not compared."""
    layout = packing(predict(case["config"]), case["config"])
    assert layout is not None
    assert layout.specs is not None, layout.findings
    predicted = {s.name: (s.dtype or layout.dtype, s.shape) for s in layout.tensors}
    stored = written(case)
    assert predicted.keys() == stored.keys()
    wide = {"F32", "BF16"}
    for name, (dtype, shape) in predicted.items():
        assert shape == stored[name][1], name
        if not {dtype, stored[name][0]} <= wide:
            assert dtype == stored[name][0], name


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
def test_the_headers_of_what_was_saved_say_the_same(case: dict[str, Any], tmp_path: Path) -> None:
    """``--source config`` and the headers agree in all that is said of each tensor."""
    layout = packing(predict(case["config"]), case["config"])
    assert layout is not None
    own = {spec.name: spec.dtype or layout.dtype for spec in layout.tensors}
    tensors = {name: (own[name] or "", shape) for name, (_, shape) in written(case).items()}
    stored = write(tmp_path, Twin(tensors, {}, {}, {}), case["config"])
    expected = hfinspect.inspect(tmp_path, source="config")
    assert facts(expected) == facts(stored)
    assert expected.nbytes == stored.nbytes
    assert expected.logical == stored.logical


def test_experts_of_one_kind_in_one_tensor() -> None:
    """Step-3.7: gate_proj.weight (experts, out, in), as its FP8 release is read."""
    config = fp8("step3p7")
    config["quantization_config"]["modules_to_not_convert"] = ["vision_model", "lm_head"]
    layout = packing(predict(config), config)
    assert layout is not None
    assert layout.specs is not None, layout.findings
    tensors = {spec.name: (spec.dtype, spec.shape) for spec in layout.tensors}
    name = next(name for name in tensors if name.endswith("moe.gate_proj.weight"))
    experts, out, inputs = tensors[name][1]
    assert tensors[name][0] == "F8_E4M3"
    assert tensors[f"{name}_scale_inv"] == ("F32", (experts, out // 128, inputs // 128))


def fp8(model_type: str, **sizes: object) -> dict[str, Any]:
    return {
        "model_type": model_type,
        "torch_dtype": "bfloat16",
        **sizes,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    }


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (fp8("step3p7"), "it does not list"),
        (fp8("gpt_oss", num_hidden_layers=1), "down_proj, down_proj_bias, gate_up_proj"),
        (fp8("granitemoe", num_hidden_layers=1), "weight"),
        (fp8("longcat_flash", num_layers=1), "experts that do nothing"),
    ],
)
def test_experts_that_transformers_does_not_pack_are_unknown(
    config: dict[str, Any], reason: str
) -> None:
    layout = packing(predict(config), config)
    assert layout is not None
    assert layout.specs is None
    assert reason in layout.findings[0].text


def test_mxfp4_is_known_of_gpt_oss_alone() -> None:
    """transformers replaces the experts of no other class, whatever a config says."""
    config = fp8("qwen3_moe", num_hidden_layers=1)
    config["quantization_config"] = {"quant_method": "mxfp4"}
    layout = packing(predict(config), config)
    assert layout is not None
    assert layout.specs is None
    assert "gpt-oss" in layout.findings[0].text


def by_transformers(model_type: str, **sizes: object) -> dict[str, Any]:
    config = fp8(model_type, **sizes)
    config["quantization_config"] |= {"dequantize": False, "modules_to_not_convert": None}
    return config


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (by_transformers("dinov2"), "cannot read"),
        (by_transformers("depth_anything"), "cannot read"),
        (by_transformers("dbrx", n_layers=1), "cannot build experts"),
        (by_transformers("kimi_linear", num_hidden_layers=2), "in pieces"),
        (
            by_transformers("qwen3_moe", num_hidden_layers=1, moe_intermediate_size=192),
            "are not halves",
        ),
    ],
)
def test_what_transformers_cannot_save_in_fp8_is_unknown(
    config: dict[str, Any], reason: str
) -> None:
    layout = packing(predict(config), config)
    assert layout is not None
    assert layout.specs is None
    assert reason in layout.findings[0].text


def method(model_type: str, architecture: str, **settings: object) -> dict[str, Any]:
    return {
        "model_type": model_type,
        "architectures": [architecture],
        "torch_dtype": "float16",
        "quantization_config": settings,
    }


GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 32}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm"}


@pytest.mark.parametrize("settings", [GPTQ, AWQ], ids=["gptq", "awq"])
@pytest.mark.parametrize(
    ("model_type", "architecture"),
    [
        ("t5", "T5ForConditionalGeneration"),
        ("bert", "BertForMaskedLM"),
        ("bart", "BartModel"),
        ("whisper", "WhisperForConditionalGeneration"),
    ],
)
def test_tools_that_go_layer_by_layer_pack_decoders_alone(
    model_type: str, architecture: str, settings: dict[str, Any]
) -> None:
    config = method(model_type, architecture, **settings)
    layout = packing(predict(config), config)
    assert layout is not None
    assert layout.specs is None
    assert "encoder" in layout.findings[0].text


def test_awq_says_what_stays_outside_of_the_layers() -> None:
    """transformers reads a vision part as packed that AutoAWQ leaves as it is."""
    for kept, known in ((None, False), ([], False), (["visual"], True)):
        config = method("qwen2_vl", "Qwen2VLForConditionalGeneration", **AWQ)
        config["quantization_config"]["modules_to_not_convert"] = kept
        layout = packing(predict(config), config)
        assert layout is not None
        assert (layout.specs is not None) is known
    plain = method("qwen2", "Qwen2ForCausalLM", **AWQ)
    layout = packing(predict(plain), plain)
    assert layout is not None
    assert layout.specs is not None


@pytest.mark.parametrize(
    ("version", "packed"), [(None, None), ("4.51.3", True), ("5.0.0", False), ("five", None)]
)
def test_the_version_says_whether_bitsandbytes_packed_experts(
    version: str | None, packed: bool | None
) -> None:
    """Since transformers 5 the experts of a layer are one tensor, which stays as it is."""
    config = method(
        "qwen3_moe", "Qwen3MoeForCausalLM", quant_method="bitsandbytes", load_in_8bit=True
    )
    config |= {"num_hidden_layers": 1, "transformers_version": version}
    layout = packing(predict(config), config)
    assert layout is not None
    if packed is None:
        assert layout.specs is None
        assert "transformers_version" in layout.findings[0].text
        return
    experts = [spec for spec in layout.tensors if spec.name.endswith("experts.0.up_proj.weight")]
    assert [spec.dtype == "I8" for spec in experts] == [packed]
    assert any(spec.name.endswith("q_proj.SCB") for spec in layout.tensors)


def test_a_name_holds_for_itself_alone_in_compressed_tensors() -> None:
    """``lm_head`` is not lm_head.dense; a head that files call otherwise is not guessed."""
    weights = {"num_bits": 8, "type": "int", "strategy": "channel"}
    settings = {
        "quant_method": "compressed-tensors",
        "format": "int-quantized",
        "ignore": ["lm_head"],
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
    }
    config = method("roberta", "RobertaForMaskedLM", **settings)
    layout = packing(predict(config), config)
    assert layout is not None
    assert "lm_head.dense.weight_scale" in {spec.name for spec in layout.tensors}
    config = method("gpt_neox", "GPTNeoXForCausalLM", **settings)
    layout = packing(predict(config), config)
    assert layout is not None
    assert layout.specs is None
    assert "otherwise" in layout.findings[0].text


def test_an_empty_list_of_modelopt_excludes_nothing() -> None:
    """Its export always writes the list (modelopt/torch/export, ``process_layer_quant_config``)."""
    config = method("llama", "LlamaForCausalLM", quant_method="modelopt", quant_algo="FP8")
    config["quantization_config"]["exclude_modules"] = []
    config["num_hidden_layers"] = 1
    layout = packing(predict(config), config)
    assert layout is not None
    assert "lm_head.weight_scale" in {spec.name for spec in layout.tensors}
    del config["quantization_config"]["exclude_modules"]
    layout = packing(predict(config), config)
    assert layout is not None
    assert layout.specs is None
