"""Checkpoints as MLX keeps them: sound, complete, and loaded by MLX alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

import hfinspect
from hfinspect.analysis.mlx_layout import MLX_LAYOUT, alike, common_name

from ..builders import write_config, write_safetensors
from ..cli.program import hfinspect as run

MOE: Final[dict[str, Any]] = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "hidden_size": 16,
    "moe_intermediate_size": 8,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "vocab_size": 64,
    "tie_word_embeddings": False,
}
Shapes = dict[str, tuple[str, tuple[int, ...]]]


def of_hub(config: dict[str, Any]) -> Shapes:
    specs = hfinspect.predict(config).tensors
    return {spec.name: ("BF16", tuple(spec.shape)) for spec in specs}


def of_mlx(config: dict[str, Any]) -> Shapes:
    """The experts of a layer in one tensor."""
    stacked: Shapes = {}
    for name, (dtype, shape) in of_hub(config).items():
        if ".experts." not in name:
            stacked[name] = (dtype, shape)
            continue
        before, _, after = name.partition(".experts.")
        rest = after.partition(".")[2]
        stacked[f"{before}.switch_mlp.{rest}"] = (dtype, (config["num_experts"], *shape))
    return stacked


def model(folder: Path, tensors: Shapes, config: dict[str, Any] = MOE) -> Path:
    write_config(folder, config)
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


def test_stacked_experts_are_complete(tmp_path: Path) -> None:
    inspection = hfinspect.inspect(model(tmp_path, of_mlx(MOE)))
    assert inspection.whole is True
    assert not inspection.problems
    assert inspection.expectation is not None
    assert inspection.expectation.agrees
    assert inspection.parameters == hfinspect.predict(MOE).parameters
    assert inspection.active_parameters == hfinspect.predict(MOE).active_parameters
    assert MLX_LAYOUT in {finding.rule for finding in inspection.findings}
    audited = hfinspect.audit(tmp_path, ignore=["HI106"])
    assert not [one for one in audited.findings if one.severity != "note"]


def test_mlx_loads_it_and_nobody_else(tmp_path: Path) -> None:
    answers = hfinspect.runs(model(tmp_path, of_mlx(MOE))).answers
    assert {one.engine for one in answers if one.answer == "yes"} == {"mlx-lm"}
    assert all(
        any("MLX's layout" in reason for reason in one.reasons)
        for one in answers
        if one.answer == "no"
    )


def test_it_is_compared_with_the_models_own_layout(tmp_path: Path) -> None:
    hub = model(tmp_path / "hub", of_hub(MOE))
    mlx = model(tmp_path / "mlx", of_mlx(MOE))
    compared = run("compare", str(hub), str(mlx))
    assert compared.code == 0, compared.out
    assert "MLX's layout" in compared.out


def test_an_expert_less_is_missing(tmp_path: Path) -> None:
    tensors = of_mlx(MOE)
    name = "model.layers.1.mlp.switch_mlp.up_proj.weight"
    tensors[name] = ("BF16", (3, *tensors[name][1][1:]))
    inspection = hfinspect.inspect(model(tmp_path, tensors))
    assert inspection.expectation is not None
    assert len(inspection.expectation.missing) >= MOE["num_experts"]
    assert name in inspection.expectation.unexpected
    assert run("compare", str(tmp_path), str(model(tmp_path / "hub", of_hub(MOE)))).code == 1


@pytest.mark.parametrize(
    ("mlx", "hub"),
    [
        (
            "model.layers.3.mlp.switch_mlp.down_proj.weight",
            "model.layers.3.mlp.experts.7.down_proj",
        ),
        ("model.layers.0.mlp.experts.up_proj.bias", "model.layers.0.mlp.experts.gate_up_proj_bias"),
        (
            "model.layers.0.block_sparse_moe.switch_mlp.down_proj.weight",
            "model.layers.0.block_sparse_moe.experts.5.w2.weight",
        ),
        ("vision_tower.blocks.0.norm1.bias", "model.visual.blocks.0.norm1.bias"),
        ("language_model.model.norm.weight", "model.language_model.norm.weight"),
        ("language_model.lm_head.weight", "lm_head.weight"),
        ("model.layers.0.self_attn.embed_q.weight", "model.layers.0.self_attn.kv_b_proj.weight"),
    ],
)
def test_common_names(mlx: str, hub: str) -> None:
    assert common_name(mlx) == common_name(hub)


def test_equal_names_with_other_numbers_are_not_alike() -> None:
    assert alike({"a.switch_mlp.w": 4}, {"a.experts.0.w": 2, "a.experts.1.w": 2}) == (
        {"a.switch_mlp.w"},
        {"a.experts.0.w", "a.experts.1.w"},
    )
    assert alike({"a.switch_mlp.w": 4}, {"a.experts.0.w": 2}) == (set(), set())
