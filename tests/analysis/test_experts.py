"""Active parameters from headers, where the catalog does not know the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hfinspect

from ..builders import write_config, write_safetensors

OUTSIDE = {"model.embed_tokens.weight": ("BF16", (100, 16)), "lm_head.weight": ("BF16", (100, 16))}


def inspect(root: Path, tensors: dict[str, Any], config: dict[str, Any]) -> hfinspect.Inspection:
    write_safetensors(root / "model.safetensors", {**OUTSIDE, **tensors})
    write_config(root, {"model_type": "nobody-knows", **config})
    return hfinspect.inspect(root)


def numbered(count: int, layers: int = 3) -> dict[str, Any]:
    return {
        f"model.layers.{layer}.mlp.experts.{expert}.{name}.weight": ("BF16", (32, 16))
        for layer in range(layers)
        for expert in range(count)
        for name in ("up_proj", "gate_proj", "down_proj")
    }


@pytest.mark.parametrize(
    "config",
    [
        {"num_experts_per_tok": 3, "n_routed_experts": 8},
        {"num_experts_per_tok": 3, "num_local_experts": 8},
        {"moe_top_k": 3, "num_experts": 8},
        {"text_config": {"num_experts_per_tok": 3, "num_experts": 8}},
    ],
)
def test_numbered_experts(config: dict[str, Any], tmp_path: Path) -> None:
    shared = {"model.layers.0.mlp.shared_experts.up_proj.weight": ("BF16", (32, 16))}
    inspection = inspect(tmp_path, {**numbered(8), **shared}, config)
    experts = 3 * 8 * 3 * 32 * 16
    assert inspection.parameters == 2 * 1600 + 512 + experts
    assert inspection.active_parameters == 2 * 1600 + 512 + experts * 3 // 8


def test_fused_experts(tmp_path: Path) -> None:
    tensors = {
        "model.layers.0.mlp.experts.gate_up_proj": ("BF16", (8, 16, 64)),
        "model.layers.0.mlp.experts.gate_up_proj_bias": ("BF16", (8, 64)),
        "model.layers.0.mlp.experts.down_proj": ("BF16", (8, 32, 16)),
    }
    inspection = inspect(tmp_path, tensors, {"num_experts_per_tok": 2, "num_experts": 8})
    experts = 8 * (16 * 64 + 64 + 32 * 16)
    assert inspection.active_parameters == 3200 + experts // 4


def test_packed_fused_experts(tmp_path: Path) -> None:
    """MXFP4 blocks of gpt-oss: two values a byte, scales are bookkeeping."""
    tensors = {
        "model.layers.0.mlp.experts.gate_up_proj_blocks": ("U8", (8, 128, 2, 16)),
        "model.layers.0.mlp.experts.gate_up_proj_scales": ("U8", (8, 128, 2)),
        "model.layers.0.mlp.experts.gate_up_proj_bias": ("BF16", (8, 128)),
    }
    config = {
        "num_experts_per_tok": 2,
        "num_experts": 8,
        "quantization_config": {"quant_method": "mxfp4"},
    }
    inspection = inspect(tmp_path, tensors, config)
    experts = 8 * 128 * 64 + 8 * 128
    assert inspection.parameters == 3200 + experts
    assert inspection.active_parameters == 3200 + experts // 4
    assert inspection.bookkeeping == 8 * 128 * 2


def test_mlx_experts_of_a_catalogued_model(tmp_path: Path) -> None:
    """mlx_lm stacks experts under a name of its own (switch_mlp)."""
    tensors = {}
    for name in ("up_proj", "gate_proj", "down_proj"):
        module = f"model.layers.0.mlp.switch_mlp.{name}"
        tensors[f"{module}.weight"] = ("U32", (8, 64, 8))
        tensors[f"{module}.scales"] = ("BF16", (8, 64, 1))
        tensors[f"{module}.biases"] = ("BF16", (8, 64, 1))
    config = {
        "num_experts_per_tok": 2,
        "num_experts": 8,
        "quantization": {"bits": 4, "group_size": 64},
    }
    inspection = inspect(tmp_path, tensors, config)
    experts = 3 * 8 * 64 * 64
    assert inspection.parameters == 3200 + experts
    assert inspection.active_parameters == 3200 + experts // 4


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"num_experts_per_tok": 2},
        {"num_experts_per_tok": 0, "num_experts": 8},
        {"num_experts_per_tok": 9, "num_experts": 8},
        {"num_experts_per_tok": "2", "num_experts": 8},
        {"num_experts_per_tok": True, "num_experts": 8},
        {"num_experts_per_tok": [2], "num_experts": [8]},
    ],
)
def test_nothing_is_guessed(config: dict[str, Any], tmp_path: Path) -> None:
    assert inspect(tmp_path, numbered(8), config).active_parameters is None
