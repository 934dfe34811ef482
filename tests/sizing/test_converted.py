"""``--engine llama.cpp`` from a config: what the converter would make of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hfinspect

MODELS = Path(__file__).parents[2] / "fixtures" / "models"
#: Mistral-7B-v0.1: 32 layers, 8 key/value heads of 128, a window of 4,096.
MISTRAL: dict[str, Any] = {
    "model_type": "mistral",
    "architectures": ["MistralForCausalLM"],
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 32000,
    "sliding_window": 4096,
    "max_position_embeddings": 32768,
    "dtype": "bfloat16",
}


def _bytes(config: Any, engine: str = "llama.cpp") -> int:
    cache = hfinspect.memory(config, engine=engine, context=32768).cache
    assert cache is not None
    return cache.nbytes


def test_mistral_has_no_window_in_llama_cpp() -> None:
    """llama.cpp printed 4096 MiB for this file at 32,768 cells."""
    assert _bytes(MISTRAL) == 4_294_967_296
    assert _bytes(MISTRAL, "transformers") < 4_294_967_296 // 7


@pytest.mark.parametrize(
    ("kind", "name", "windowed"),
    [
        ("mixtral", "Mixtral", False),
        ("phi3", "Phi3", False),
        ("starcoder2", "Starcoder2", False),
        ("qwen2", "Qwen2", False),
        ("qwen3", "Qwen3", False),
        ("gemma2", "Gemma2", True),
        ("gpt_oss", "GptOss", True),
        ("cohere2", "Cohere2", True),
        ("olmo3", "Olmo3", True),
    ],
)
def test_only_some_architectures_have_windows(kind: str, name: str, windowed: bool) -> None:
    config = {
        "model_type": kind,
        "architectures": [f"{name}ForCausalLM"],
        "sliding_window": 512,
        "use_sliding_window": True,
        "max_window_layers": 0,
        "num_hidden_layers": 4,
    }
    cache = hfinspect.memory(config, engine="llama.cpp", context=32768).cache
    assert cache is not None
    assert any(group.window for group in cache.layers) == windowed
