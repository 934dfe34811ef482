"""Values of a config that loaders refuse, against what transformers did with the same configs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.library_versions import TRANSFORMERS
from hfinspect.inspecting.judging.config_values import refused_values

from ..builders import write_config
from ..cli.program import hfinspect as program
from ..schemas import conforms

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECORDED = json.loads((FIXTURES / "oracle" / "refused_values.json").read_text())
CORPUS = Path(
    os.environ.get("HFINSPECT_CORPUS", Path(__file__).resolve().parents[3] / "shared" / "corpus")
)
#: What the catalog refuses itself, with an error of its own, before values are judged.
BY_THE_CATALOG = ({"num_attention_heads": 0}, {"rope_theta": "10000"})
LLAMA: dict[str, Any] = RECORDED[0]["config"]


def _caught(config: dict[str, Any]) -> bool:
    return any(one.items() <= config.items() for one in BY_THE_CATALOG)


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["refused"] or "taken")
def test_an_error_is_what_transformers_refuses(row: dict[str, Any]) -> None:
    problems = list(refused_values(row["config"]))
    if not row["refused"]:
        assert not [problem.sentence for problem in problems if problem.stops_loading]
    elif not _caught(row["config"]):
        assert problems, "transformers refuses it"


def test_recorded_configs_of_both_kinds() -> None:
    outcomes = [row["refused"] for row in RECORDED]
    assert outcomes.count("config") > 70
    assert outcomes.count("build") > 30
    assert outcomes.count("run") >= 3
    assert outcomes.count("") > 50


ROPE = {
    "none": ({"factor": 8.0}, "warning", "rope_scaling.rope_type is missing"),
    "unknown": (
        {"rope_type": "su", "factor": 8.0},
        "error",
        'rope_scaling.rope_type is "su": transformers',
    ),
    "original": (
        {"rope_type": "yarn", "factor": 4.0},
        "warning",
        "rope_scaling.original_max_position_embeddings is missing",
    ),
    "llama3": (
        {"rope_type": "llama3", "factor": 8.0},
        "error",
        "rope_scaling.low_freq_factor and high_freq_factor are missing",
    ),
    "word": ("linear", "error", 'rope_scaling is "linear"'),
    "conflict": (
        {"type": "linear", "rope_type": "dynamic", "factor": 8.0},
        "warning",
        'rope_scaling.type is "linear": vLLM 0.33.0 refuses it',
    ),
    "lengths": (
        {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [1.0] * 8},
        "error",
        "rope_scaling.short_factor has 4 numbers, and 8 pairs are turned",
    ),
}


@pytest.mark.parametrize("name", ROPE)
def test_rope(name: str) -> None:
    rope, severity, text = ROPE[name]
    problems = list(refused_values({**LLAMA, "rope_scaling": rope}))
    assert [problem.severity for problem in problems if problem.sentence.startswith(text)] == [
        severity
    ], [problem.sentence for problem in problems]


OTHERS: dict[str, tuple[dict[str, Any], str, str]] = {
    "act": ({"hidden_act": "swiglu"}, "error", 'hidden_act is "swiglu"'),
    "act in capitals": ({"hidden_act": "GELU"}, "warning", 'hidden_act is "GELU"'),
    "eos": ({"eos_token_id": "</s>"}, "error", 'eos_token_id is "</s>"'),
    "layers": ({"layer_types": ["full_attention"]}, "error", "layer_types has 1 entries for 2"),
    "heads": ({"num_key_value_heads": 3}, "error", "num_key_value_heads is 3, which does not"),
    "dtype": ({"torch_dtype": "bf16"}, "error", 'torch_dtype is "bf16"'),
    "two dtypes": ({"dtype": "float16"}, "note", 'dtype is "float16" and torch_dtype "float32"'),
    "padding": ({"pad_token_id": 256}, "warning", "pad_token_id is 256 of a vocabulary of 256"),
    "attention": (
        {"_attn_implementation": "flash_attention_5"},
        "warning",
        '_attn_implementation is "flash_attention_5"',
    ),
    "quantisation": ({"quantization_config": {}}, "warning", "quantization_config is empty"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_values(name: str) -> None:
    change, severity, text = OTHERS[name]
    problems = [
        problem
        for problem in refused_values({**LLAMA, **change})
        if problem.sentence.startswith(text)
    ]
    assert [problem.severity for problem in problems] == [severity]
    assert f"transformers {TRANSFORMERS}" in problems[0].sentence


def test_in_a_section_and_with_code_of_its_own() -> None:
    text = {**LLAMA, "hidden_act": "swiglu"}
    nested = {"model_type": "llava", "text_config": text}
    (problem,) = refused_values(nested)
    assert problem.text.startswith("text_config.hidden_act")
    own = {**LLAMA, "eos_token_id": "</s>", "auto_map": {"AutoConfig": "configuration_x.X"}}
    assert [problem.severity for problem in refused_values(own)] == ["warning"]
    assert not list(refused_values({**text, "model_type": "of_its_own"}))


@pytest.mark.parametrize("value", [[], [[]], {"x": [1]}, "\x1b[2J" * 50, 10**80, 1e400, -1, None])
@pytest.mark.parametrize("key", LLAMA)
def test_any_value_is_judged_without_an_error(key: str, value: object) -> None:
    for problem in refused_values({**LLAMA, key: value, "rope_scaling": {"rope_type": value}}):
        assert "\x1b" not in problem.sentence
        assert len(problem.sentence) < 400


def test_config_alone_in_inspect_and_memory(tmp_path: Path) -> None:
    write_config(tmp_path, {**LLAMA, "hidden_act": "swiglu"})
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.whole is False
    assert [problem.kind for problem in inspection.problems] == ["broken_contract"]
    conforms(inspection.to_dict())
    output = program("inspect", str(tmp_path))
    assert 'hidden_act is "swiglu"' in output.out


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not there")
def test_no_alarm_on_released_configs() -> None:
    paths = sorted(CORPUS.glob("*/config.json"))
    assert len(paths) > 100
    alarms = [
        f"{path.parent.name}: {problem.sentence}"
        for path in paths
        for problem in refused_values(json.loads(path.read_text()))
    ]
    assert not alarms


@pytest.mark.parametrize("path", sorted((FIXTURES / "models").glob("*/config.json")), ids=str)
def test_no_alarm_on_fixtures(path: Path) -> None:
    assert not list(refused_values(json.loads(path.read_text())))


def test_no_alarm_on_packed_models() -> None:
    rows = json.loads((FIXTURES / "oracle" / "packed.json").read_text())
    assert not [
        f"{row['name']}: {problem.sentence}"
        for row in rows
        for problem in refused_values(row["config"])
    ]
