"""The counts of docs/comparison.md: each of its configs, predicted today."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hfinspect import predict

from .cli.program import ROOT

#: The keys in which a config differs from the defaults of its class.
CONFIGS: dict[str, dict[str, Any]] = {
    "gpt2": {"model_type": "gpt2"},
    "llama-3.1-8b": {
        "model_type": "llama",
        "vocab_size": 128256,
        "intermediate_size": 14336,
        "num_key_value_heads": 8,
    },
    "qwen3-30b-a3b": {
        "model_type": "qwen3_moe",
        "num_hidden_layers": 48,
        "head_dim": 128,
        "num_experts": 128,
        "hidden_size": 2048,
        "moe_intermediate_size": 768,
        "num_key_value_heads": 4,
        "vocab_size": 151936,
    },
    "mixtral-8x7b": {"model_type": "mixtral"},
    "deepseek-v3": {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"]},
    "gpt-oss-20b": {"model_type": "gpt_oss", "num_hidden_layers": 24, "num_local_experts": 32},
    "gemma-2-2b": {"model_type": "gemma2"},
    "opt-1.3b": {
        "model_type": "opt",
        "hidden_size": 2048,
        "ffn_dim": 8192,
        "num_hidden_layers": 24,
        "num_attention_heads": 32,
        "word_embed_proj_dim": 2048,
    },
    "bert-base (masked language model)": {
        "model_type": "bert",
        "architectures": ["BertForMaskedLM"],
    },
    "t5-small": {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]},
    "mamba-130m": {"model_type": "mamba", "num_hidden_layers": 24},
    "falcon-7b": {"model_type": "falcon", "bias": False, "parallel_attn": True},
}

ROWS = {
    name: int(count.replace(",", ""))
    for name, count in re.findall(
        r"^\| ([^|]+) \| ([0-9,]{9,}) \|",
        (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}


@pytest.mark.parametrize("name", CONFIGS)
def test_the_shown_count_is_predicted(name: str) -> None:
    assert predict(CONFIGS[name]).parameters == ROWS[name]


def test_no_row_is_left_out() -> None:
    """The first one is a fixture."""
    parameters = predict(str(ROOT / "fixtures" / "models" / "bloom-1b4-zh")).parameters
    assert {**ROWS, "bloom-1b4-zh": parameters} == ROWS
    assert set(ROWS) == {*CONFIGS, "bloom-1b4-zh"}
