"""Every verb next to every config: a recorded one, with keys changed to what makes no sense.

Forty examples by default; ``--hypothesis-profile=long`` gives more. A verb answers or refuses with
an error of ours; anything else is a traceback on somebody's screen.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hfinspect
from hfinspect.errors import HfinspectError

from .architectures import recordings
from .examples import examples

VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [0, -1, 1, 2, 3, 7, 64, 10**9, 2**40, True, False, None, 0.5, "x", "full_attention", [], {}]
)
PACKED: list[dict[str, Any]] = [
    {"quant_method": "awq", "bits": 4, "group_size": 32},
    {"quant_method": "gptq", "bits": 4, "group_size": 32},
    {"quant_method": "fp8", "weight_block_size": [16, 16]},
    {"quant_method": "bitsandbytes", "load_in_4bit": True},
    {"quant_method": "mxfp4"},
]
ENGINES = ["logical", "transformers", "transformers-static", "vllm", "sglang", "llama.cpp"]
DEVICES = [None, "24GB", "2x24GB", "M3 Max 64GB"]


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    """A small recorded config with up to two other values, in a section or outside."""
    records = recordings.of(draw(st.sampled_from(recordings.FAMILIES)))
    record = records[draw(st.sampled_from(sorted(records)))]
    config: dict[str, Any] = copy.deepcopy(recordings.spellings(record).popitem()[1])
    for _ in range(draw(st.integers(0, 2))):
        sections = [config, *(value for value in config.values() if isinstance(value, dict))]
        section = draw(st.sampled_from(sections))
        keys = sorted(section.keys() - {"model_type", "architectures", "_class_name"})
        if keys:
            section[draw(st.sampled_from(keys))] = draw(VALUES)
    if draw(st.booleans()):
        config["quantization_config"] = draw(st.sampled_from(PACKED))
    return config


def answered(verb: Callable[[], Any]) -> bool:
    """Whether it was; a refusal is one of ours."""
    try:
        answer = verb()
    except HfinspectError:
        return False
    return bool(answer.to_dict())


@given(configs(), st.sampled_from(ENGINES), st.sampled_from(DEVICES))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_config_is_answered_or_refused(
    config: dict[str, Any], engine: str, device: str | None
) -> None:
    answered(lambda: hfinspect.inspect(config))
    answered(lambda: hfinspect.memory(config, engine=engine, on=device))
    answered(lambda: hfinspect.explain(config))
    answered(lambda: hfinspect.explain_cache(config, engine=engine))


@given(configs(), st.sampled_from(["full", "lora", "qlora"]))
@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.too_slow])
def test_any_config_is_trained_or_refused(config: dict[str, Any], kind: str) -> None:
    answered(lambda: hfinspect.memory(config, train=kind))


#: Configs that ended in a traceback, and what is asked of them.
LLAMA = {"vocab_size": 99, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
ODD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "every layer of the decoder looks at the encoder": (
        {"model_type": "t5gemma", "architectures": ["T5GemmaModel"]},
        {"engine": "vllm"},
    ),
    "heads without a width, next to states": (
        {
            **LLAMA,
            "model_type": "lfm2",
            "layer_types": ["conv", "full_attention"],
            "num_attention_heads": 2**40,
        },
        {"engine": "vllm"},
    ),
    "a mixture of no expert": (
        {**LLAMA, "model_type": "lara_mini", "num_experts": 0},
        {"engine": "vllm"},
    ),
    "heads of states that have no width": (
        {**LLAMA, "model_type": "xlstm", "num_heads": 10**9},
        {"engine": "transformers"},
    ),
    "more heads than are in a row": (
        {**LLAMA, "model_type": "granite", "hidden_size": 1, "num_attention_heads": 2},
        {"train": "full"},
    ),
}


@pytest.mark.parametrize(("config", "options"), ODD.values(), ids=ODD)
def test_a_config_that_was_a_traceback(config: dict[str, Any], options: dict[str, Any]) -> None:
    assert answered(lambda: hfinspect.memory(config, **options))


EXPLAINED: dict[str, dict[str, Any]] = {
    "an attention without heads": {
        "model_type": "funnel",
        "architectures": ["FunnelForPreTraining"],
        "n_head": 0,
    },
    "heads that do not divide four times the width, which is the usual one of an MLP": {
        "model_type": "videoprism_vision_model",
        "architectures": ["VideoPrismVideoModel"],
        "hidden_size": 24,
        "intermediate_size": 30,
        "num_attention_heads": 5,
    },
}


@pytest.mark.parametrize("config", EXPLAINED.values(), ids=EXPLAINED)
def test_a_config_whose_derivation_was_a_traceback(config: dict[str, Any]) -> None:
    assert answered(lambda: hfinspect.explain(config))
