"""HI311 to HI313 compare a checkpoint with the packed tensors that its config predicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hfinspect

from ..analysis import twins
from ..analysis.test_packing import CONFIGS
from ..analysis.test_quantization import write
from ..analysis.twins import TWINS, Stored, Twin

RULES = ("HI311", "HI312", "HI313")
Q_PROJ = "model.layers.0.self_attn.q_proj"


def audited(
    directory: Path, tensors: Stored, config: dict[str, Any]
) -> list[tuple[str, str | None, str]]:
    write(directory, Twin(tensors, config, {}, {"format": "pt"}))
    findings = hfinspect.audit(directory).findings
    return [(f.code, f.tensor, f.text) for f in findings if f.code in RULES]


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_a_sound_packed_checkpoint_is_silent(name: str, tmp_path: Path) -> None:
    twin = TWINS[name]()
    write(tmp_path, Twin(twin.tensors, CONFIGS[name], {}, twin.metadata))
    assert [f for f in hfinspect.audit(tmp_path).findings if f.code.startswith("HI3")] == []


@pytest.mark.parametrize("name", sorted(TWINS))
def test_files_of_another_writer_are_silent(name: str, tmp_path: Path) -> None:
    """Configs that say just what reading needs, and layouts that are not predicted."""
    twin = TWINS[name]()
    write(tmp_path, twin)
    assert [f for f in hfinspect.audit(tmp_path).findings if f.code == "HI313"] == []


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("gptq-4", "qzeros"),
        ("gptq-4", "scales"),
        ("awq-gemm", "qzeros"),
        ("awq-gemv", "scales"),
        ("auto-round-gptq", "qzeros"),
        ("fp8-blocks", "weight_scale_inv"),
        ("modelopt-nvfp4", "weight_scale_2"),
        ("ct-pack-4", "weight_scale"),
        ("mlx-8", "biases"),
    ],
)
def test_a_missing_piece_is_found(name: str, piece: str, tmp_path: Path) -> None:
    tensors = dict(TWINS[name]().tensors)
    del tensors[f"{Q_PROJ}.{piece}"]
    (one,) = audited(tmp_path, tensors, CONFIGS[name])
    assert one[:2] == ("HI313", f"{Q_PROJ}.{piece}")
    assert "no file holds it" in one[2]


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("gptq-4", "qzeros"),
        ("awq-gemm", "qzeros"),
        ("auto-round-gptq", "scales"),
        ("fp8-blocks", "weight_scale_inv"),
        ("modelopt-nvfp4", "weight_scale"),
        ("ct-pack-4", "weight_scale"),
        ("mlx-8", "biases"),
    ],
)
def test_a_piece_of_another_shape_is_found(name: str, piece: str, tmp_path: Path) -> None:
    tensors = dict(TWINS[name]().tensors)
    dtype, shape = tensors[f"{Q_PROJ}.{piece}"]
    tensors[f"{Q_PROJ}.{piece}"] = (dtype, (*shape[:-1], shape[-1] * 2 + 1))
    named = {tensor for code, tensor, _ in audited(tmp_path, tensors, CONFIGS[name])}
    assert f"{Q_PROJ}.{piece}" in named or f"{Q_PROJ}.qweight" in named


def test_what_loaders_do_without_is_no_finding(tmp_path: Path) -> None:
    """The order of GPTQ's groups, and the factors of activations."""
    for name, piece in (("gptq-4", "g_idx"), ("fp8-static", "activation_scale")):
        tensors = dict(TWINS[name]().tensors)
        del tensors[f"{Q_PROJ}.{piece}"]
        assert audited(tmp_path, tensors, CONFIGS[name]) == []


def test_a_config_that_excludes_every_module_promises_no_packed_tensor(tmp_path: Path) -> None:
    section = twins.section("fp8", weight_block_size=[128, 128], modules_to_not_convert=["proj"])
    section["quantization_config"]["modules_to_not_convert"] = ["model.layers", "lm_head"]
    assert audited(tmp_path, twins.original(), section) == []
    section["quantization_config"]["modules_to_not_convert"] = ["lm_head"]
    assert [code for code, _, _ in audited(tmp_path, twins.original(), section)] == ["HI311"]


def test_an_older_key_of_compressed_tensors_says_it_too(tmp_path: Path) -> None:
    config = {"compression_config": CONFIGS["ct-pack-4"]["quantization_config"]}
    assert audited(tmp_path, TWINS["ct-pack-4"]().tensors, config) == []
