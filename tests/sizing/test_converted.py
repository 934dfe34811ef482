"""``--engine llama.cpp`` from a config: what the converter would make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.analysis.gguf.gguf_cache import CacheLayout, cache_layout
from hfinspect.trees.cache_layout import KeysValues
from tests.sizing.llama_cpp_record import recorded

CASES = Path(__file__).parents[2] / "fixtures" / "oracle" / "cases"
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


@pytest.mark.parametrize("kind", ["qwen4_exp", "glm5_next"])
def test_an_indexer_keeps_what_its_file_says(kind: str) -> None:
    """A row of a config is that of the key-values that its converter writes."""
    (case, *_) = json.loads((CASES / f"{kind}.json").read_text())
    cases = {"model_type": kind, "architectures": [case["cases"][0]["architecture"]]}
    text = case["tiny"]["text_config"]
    is_glm = kind == "glm5_next"
    sized = hfinspect.memory({**case["tiny"], **cases}, engine="llama.cpp", context=512).cache
    assert sized is not None
    (row,) = [layer for layer in sized.layers if layer.label == "indexer keys"]
    length = text["index_head_dim" if is_glm else "indexer_head_dim"]
    name = "glm5-next" if is_glm else "qwen4exp"
    (file,) = [one for one in recorded() if one.name == name]
    layout = cache_layout(file.keys, {one: shape for one, shape, _ in file.tensors})
    assert isinstance(layout, CacheLayout)
    kept = {
        int(item.key) + int(item.value)
        for layer in layout.layers
        for item in layer.cache
        if isinstance(item, KeysValues) and item.name == "indexer"
    }
    per_key = file.keys[f"{name}.attention.indexer.key_length"]
    assert kept == {row.elements // length * per_key}
    assert not any(layer.label.startswith("position") for layer in sized.layers)
