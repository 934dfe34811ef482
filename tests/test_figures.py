"""Figures that hfinspect must give, each with its derivation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hfinspect
from hfinspect import Inspection

from .builders import write_safetensors

MODELS = Path(__file__).resolve().parents[1] / "fixtures" / "models"


def inspect(name: str, **overrides: object) -> Inspection:
    return hfinspect.inspect(MODELS / name, overrides=overrides)


def typed(shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {name: ("F32", shape) for name, shape in shapes.items()}


def components(inspection: Inspection) -> dict[str, int | None]:
    return {name: totals.parameters for name, totals in inspection.components.items()}


def test_bloom_1b4_zh() -> None:
    """V·H = 46,145 · 2,048 for the embedding; 2·24 + 2 = 50 LayerNorms of 2·H; per layer
    3·H² + 3·H and H² + H for attention, 8·H² + 5·H for the MLP; the head is the embedding."""
    inspection = inspect("bloom-1b4-zh")
    assert components(inspection) == {
        "embedding": 94_504_960,
        "attention": 402_849_792,
        "mlp": 805_552_128,
        "norm": 204_800,
        "head": 0,
    }
    assert inspection.parameters == 1_303_111_680
    assert inspection.parameters_with_head == 1_397_616_640
    assert dict(inspection.tied) == {"lm_head.weight": "transformer.word_embeddings.weight"}


@pytest.mark.parametrize(
    ("architecture", "parameters"),
    [("BertModel", 109_482_240), ("BertForMaskedLM", 109_514_298)],
)
def test_bert_base(architecture: str, parameters: int) -> None:
    """23,837,184 in embeddings, 12 · 7,087,872 in layers; then the pooler's H² + H = 590,592, or
    the transform's H² + 3·H and a bias for each of 30,522 words."""
    assert inspect("bert-base-uncased", architectures=[architecture]).parameters == parameters


def test_bert_base_without_pooler() -> None:
    inspection = inspect("bert-base-uncased", architectures=["BertModel"])
    pooler = sum(t.parameters or 0 for t in inspection.tensors if t.kind == "pooler")
    layer = sum(t.parameters or 0 for t in inspection.tensors if t.layer == 0)
    assert (pooler, layer) == (590_592, 7_087_872)
    assert (inspection.parameters or 0) - pooler == 108_891_648


def test_openai_gpt() -> None:
    """40,478 words and 512 positions of 768, 12 layers of 7,087,872; no final norm."""
    inspection = inspect("openai-gpt")
    assert inspection.parameters == 116_534_784
    assert sum(t.parameters or 0 for t in inspection.tensors if t.layer is not None) == 85_054_464


def test_gpt2_from_config() -> None:
    """(50,257 + 1,024) · 768, 12 · 7,087,872 and a final norm of 1,536."""
    assert inspect("gpt2").parameters == 124_439_808


def test_gpt2_masks_are_no_parameters(tmp_path: Path) -> None:
    """A header that stores the causal masks h.N.attn.bias (1, 1, 1024, 1024), as gpt2's does:
    twelve of 1,048,576 elements are shown as buffers and counted nowhere else."""
    prediction = hfinspect.predict({"model_type": "gpt2"})
    shapes = {t.name.removeprefix("transformer."): t.shape for t in prediction.tensors}
    masks = {f"h.{i}.attn.bias": (1, 1, 1024, 1024) for i in range(12)}
    write_safetensors(tmp_path / "model.safetensors", typed({**shapes, **masks}))
    (tmp_path / "config.json").write_text((MODELS / "gpt2" / "config.json").read_text())
    for folder in (tmp_path, tmp_path / "model.safetensors"):
        inspection = hfinspect.inspect(folder)
        assert inspection.parameters == 124_439_808
        assert inspection.buffers == 12 * 1024 * 1024
        assert inspection.stored == 124_439_808 + 12 * 1024 * 1024


def test_gpt2_masks_without_a_config(tmp_path: Path) -> None:
    """The same from names alone."""
    shapes = {t.name: t.shape for t in hfinspect.predict({"model_type": "gpt2"}).tensors}
    masks = {f"transformer.h.{i}.attn.bias": (1, 1, 1024, 1024) for i in range(12)}
    write_safetensors(tmp_path / "model.safetensors", typed({**shapes, **masks}))
    inspection = hfinspect.inspect(tmp_path)
    assert (inspection.parameters, inspection.buffers) == (124_439_808, 12 * 1024 * 1024)
    assert components(inspection) == components(inspect("gpt2"))


def test_gpt3_175b() -> None:
    """12·96·H² is 173.9 B with H = 12,288; embeddings, biases and norms make it 174.6 B."""
    inspection = inspect("gpt3-175b")
    assert inspection.parameters == 174_604_259_328
    matrices = 12 * 96 * 12_288**2
    embeddings = (50_257 + 2_048) * 12_288
    per_layer_rest = (3 + 1 + 4 + 1 + 4) * 12_288
    assert inspection.parameters == matrices + embeddings + 96 * per_layer_rest + 2 * 12_288


def test_a_tied_head_stored_twice_is_counted_once(tmp_path: Path) -> None:
    """Embedding and lm_head both in the file, tie_word_embeddings true: one of them counts."""
    config = {
        "model_type": "llama",
        "vocab_size": 64,
        "hidden_size": 8,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "tie_word_embeddings": True,
    }
    prediction = hfinspect.predict(config)
    shapes = {t.name: t.shape for t in prediction.tensors}
    write_safetensors(tmp_path / "model.safetensors", typed({**shapes, "lm_head.weight": (64, 8)}))
    unknown = {"tie_word_embeddings": True, "model_type": "nobody-knows", "vocab_size": 64}
    for said in (config, unknown):
        (tmp_path / "config.json").write_text(json.dumps(said))
        inspection = hfinspect.inspect(tmp_path)
        assert inspection.parameters == prediction.parameters
        assert inspection.stored == prediction.parameters + 64 * 8
        assert inspection.tied == {"lm_head.weight": "model.embed_tokens.weight"}
        assert any(finding.rule == "tied-stored-twice" for finding in inspection.findings)
