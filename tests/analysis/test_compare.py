"""Comparing models: what differs, folded by layers."""

from __future__ import annotations

from pathlib import Path

import pytest

import hfinspect
from hfinspect.analysis.compare import ranges
from hfinspect.errors import UsageError

from ..builders import write_config, write_safetensors

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 64,
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
}


def checkpoint(folder: Path, dtype: str = "F32", **changes: object) -> Path:
    config = {**CONFIG, **changes}
    write_config(folder, config)
    tensors = {t.name: (dtype, t.shape) for t in hfinspect.predict(config).tensors}
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


def test_a_copy_is_identical_in_structure(tmp_path: Path) -> None:
    a, b = checkpoint(tmp_path / "a"), checkpoint(tmp_path / "b")
    found = hfinspect.compare(a, b)
    assert found.same_structure
    assert found.differences[0].changes == ()
    assert found.differences[0].config == {}


def test_a_dtype_is_no_difference_of_structure(tmp_path: Path) -> None:
    a, b = checkpoint(tmp_path / "a"), checkpoint(tmp_path / "b", "BF16", torch_dtype="bfloat16")
    found = hfinspect.compare(a, b)
    assert found.same_structure
    kinds = {(c.kind, c.here, c.there) for c in found.differences[0].changes}
    assert kinds == {("dtype", "F32", "BF16")}
    assert found.differences[0].config == {"torch_dtype": (None, "bfloat16")}


def test_differences_fold_by_layers(tmp_path: Path) -> None:
    """Two more layers and narrower keys: one row a tensor of a layer, with its layers."""
    a = checkpoint(tmp_path / "a")
    b = checkpoint(tmp_path / "b", num_hidden_layers=6, num_key_value_heads=1)
    changes = {(c.kind, c.name): c for c in hfinspect.compare(a, b).differences[0].changes}
    narrower = changes["shape", "model.layers.N.self_attn.k_proj.weight"]
    assert (narrower.layers, narrower.here, narrower.there) == ((0, 1, 2, 3), "8x8", "4x8")
    assert changes["only_there", "model.layers.N.mlp.up_proj.weight"].layers == (4, 5)
    assert not any(kind == "only_here" for kind, _ in changes)


def test_a_config_and_a_checkpoint_can_be_compared(tmp_path: Path) -> None:
    found = hfinspect.compare(CONFIG, checkpoint(tmp_path / "a"))
    assert found.same_structure


def test_one_model_is_too_few() -> None:
    with pytest.raises(UsageError, match="two models or more"):
        hfinspect.compare(CONFIG)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((), ""), ((3,), "3"), ((0, 1), "0-1"), ((0, 1, 2, 5, 7, 8), "0-2, 5, 7-8")],
)
def test_ranges(numbers: tuple[int, ...], text: str) -> None:
    assert ranges(numbers) == text
