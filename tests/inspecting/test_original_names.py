"""Checkpoints in the names of Mistral's and Meta's own code, with params.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import hfinspect
from hfinspect.core.original_names import config_of_params, hub_name

from ..builders import write_config, write_safetensors
from ..formats.torch_files import state_zip

PARAMS: Final[dict[str, Any]] = {
    "dim": 16,
    "n_layers": 2,
    "head_dim": 8,
    "hidden_dim": 32,
    "n_heads": 2,
    "n_kv_heads": 1,
    "norm_eps": 1e-5,
    "vocab_size": 64,
}
LAYER: Final[dict[str, list[int]]] = {
    "attention.wq": [16, 16],
    "attention.wk": [8, 16],
    "attention.wv": [8, 16],
    "attention.wo": [16, 16],
    "feed_forward.w1": [32, 16],
    "feed_forward.w2": [16, 32],
    "feed_forward.w3": [32, 16],
    "attention_norm": [16],
    "ffn_norm": [16],
}


def original() -> dict[str, list[int]]:
    tensors = {f"layers.{n}.{name}.weight": form for n in range(2) for name, form in LAYER.items()}
    outside = {"tok_embeddings.weight": [64, 16], "norm.weight": [16], "output.weight": [64, 16]}
    return {**outside, **tensors}


def published(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: ("BF16", tuple(shape)) for name, shape in original().items()}
    write_safetensors(folder / "consolidated.safetensors", tensors)
    (folder / "params.json").write_text(json.dumps(PARAMS))
    return folder


def test_mistrals_own_is_a_complete_model(tmp_path: Path) -> None:
    inspection = hfinspect.inspect(published(tmp_path))
    assert inspection.whole is True
    assert inspection.model_type == "mistral"
    assert inspection.parameters == hfinspect.predict(config_of_params(PARAMS) or {}).parameters
    assert any("complete, in Mistral's names" in one.text for one in inspection.findings)
    answers = {one.engine: one.answer for one in hfinspect.runs(tmp_path).answers}
    assert answers["vllm"] == "yes"
    assert answers["transformers"] == "no"


def test_next_to_the_hubs_names_it_is_the_same_twice(tmp_path: Path) -> None:
    config = config_of_params(PARAMS)
    assert config is not None
    write_config(published(tmp_path), config)
    specs = hfinspect.predict(config).tensors
    write_safetensors(
        tmp_path / "model.safetensors",
        {spec.name: ("BF16", tuple(spec.shape)) for spec in specs},
    )
    audited = hfinspect.audit(tmp_path, select=["HI21"])
    [finding] = audited.findings
    assert finding.code == "HI211"
    assert "the same weights twice" in finding.text


def test_the_names_in_a_file_for_transformers_are_an_error(tmp_path: Path) -> None:
    config = config_of_params(PARAMS)
    assert config is not None
    write_config(tmp_path, config)
    tensors = {name: ("BF16", tuple(shape)) for name, shape in original().items()}
    write_safetensors(tmp_path / "model.safetensors", tensors)
    inspection = hfinspect.inspect(tmp_path)
    assert [problem.kind for problem in inspection.problems] == ["other_names"]
    assert inspection.whole is False


def test_meta_has_a_file_for_each_rank(tmp_path: Path) -> None:
    params = {**PARAMS, "multiple_of": 32}
    del params["hidden_dim"]
    (tmp_path / "params.json").write_text(json.dumps(params))
    (tmp_path / "consolidated.00.pth").write_bytes(state_zip(original()))
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.model_type == "llama"
    (tmp_path / "consolidated.01.pth").write_bytes(state_zip(original()))
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.expectation is None
    assert any("2 ranks" in finding.text for finding in inspection.findings)


def test_names() -> None:
    assert hub_name("layers.3.attention.wk.weight") == "model.layers.3.self_attn.k_proj.weight"
    assert hub_name("layers.%d.feed_forward.experts.%d.w2.weight") == (
        "model.layers.%d.block_sparse_moe.experts.%d.w2.weight"
    )
    assert hub_name("layers.0.self_attn.q_proj.weight") is None
    assert config_of_params({"dim": 16}) is None
