"""Of equal configs one prediction is made, and what was made of it serves for each of them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.errors import ConfigError
from hfinspect.inspecting.declared_class import predict_as

from ..builders import write_config, write_safetensors

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 64,
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 128,
}


def test_equal_configs_have_one_prediction() -> None:
    first = predict_as(None, CONFIG)
    assert first is not None
    assert predict_as(None, copy.deepcopy(CONFIG)) is first
    assert predict_as(None, {**CONFIG, "hidden_size": 16}) is not first


def test_a_config_that_is_changed_is_another_one() -> None:
    mine = copy.deepcopy(CONFIG)
    before = predict_as(None, mine)
    mine["num_hidden_layers"] = 3
    after = predict_as(None, mine)
    again = predict_as(None, CONFIG)
    assert before is not None
    assert after is not None
    assert again is before
    assert after.parameters > before.parameters


def test_a_config_with_objects_of_python_is_predicted_all_the_same() -> None:
    other = {**CONFIG, "eos_token_id": (1, 2), "note": object()}
    one = predict_as(None, other)
    two = predict_as(None, CONFIG)
    assert one is not None
    assert two is not None
    assert one.tensors == two.tensors


def test_a_config_that_is_refused_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ConfigError, match="hidden_size"):
            predict_as(None, {**CONFIG, "hidden_size": "eight"})


def test_models_of_one_config_have_facts_of_their_own(tmp_path: Path) -> None:
    """The same config next to weights of other dtypes, and next to others of a longer context."""
    inspections = {}
    for name, dtype, context in (("a", "BF16", 128), ("b", "F32", 128), ("c", "BF16", 256)):
        config = {**CONFIG, "max_position_embeddings": context}
        tensors = {spec.name: (dtype, spec.shape) for spec in hfinspect.predict(config).tensors}
        write_config(tmp_path / name, config)
        write_safetensors(tmp_path / name / "model.safetensors", tensors)
        inspections[name] = hfinspect.inspect(tmp_path / name)
    caches = {name: one.cache for name, one in inspections.items()}
    assert {name: one.facts.context for name, one in inspections.items()} == {
        "a": 128,
        "b": 128,
        "c": 256,
    }
    assert caches["a"] is not None
    assert caches["b"] is not None
    assert caches["c"] is not None
    assert caches["b"].nbytes == caches["c"].nbytes == 2 * caches["a"].nbytes
    again = hfinspect.inspect(tmp_path / "a")
    assert (again.cache, again.facts) == (inspections["a"].cache, inspections["a"].facts)
