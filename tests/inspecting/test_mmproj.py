"""mmproj files: a part of a GGUF model, counted by itself and sized next to the model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import hfinspect

from ..cli.program import ROOT
from ..formats.gguf_files import BOOL, GgufWriter

MODEL = ROOT / "fixtures/checkpoints/gguf-v3/tiny-Q4_K_M.gguf"


def mmproj(kind: str = "mmproj") -> bytes:
    """A vision encoder of one matrix (16 x 32) and a projector of one (8 x 16), in float32."""
    made = GgufWriter().text("general.architecture", "clip").text("general.type", kind)
    made.raw_key("clip.has_vision_encoder", BOOL, b"\x01")
    made.text("clip.projector_type", "mlp\x1b[31m")
    made.u32("clip.vision.image_size", 336).u32("clip.vision.patch_size", 14)
    made.tensor("v.blk.0.attn_q.weight", (16, 32), 0, 0)
    made.tensor("mm.0.weight", (8, 16), 0, 16 * 32 * 4)
    return made.bytes((16 * 32 + 8 * 16) * 4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(MODEL, tmp_path / "model.gguf")
    (tmp_path / "mmproj-F32.gguf").write_bytes(mmproj())
    return tmp_path


def test_it_is_counted_by_component_and_named(folder: Path) -> None:
    found = hfinspect.inspect(str(folder / "mmproj-F32.gguf"))
    assert found.adapter is None
    counts = {
        str(name): sums.parameters for name, sums in found.components.items() if sums.parameters
    }
    assert counts == {"attention": 16 * 32, "projector": 8 * 16}
    (note,) = [one.text for one in found.findings if one.rule == "mmproj"]
    assert "images of 336 pixels in patches of 14" in note
    assert "\x1b" not in note


def test_memory_adds_the_one_that_lies_next_to_a_model(folder: Path) -> None:
    alone = hfinspect.memory(str(MODEL), context=64)
    both = hfinspect.memory(str(folder / "model.gguf"), context=64)
    more = (16 * 32 + 8 * 16) * 4
    assert both.weights.nbytes == (alone.weights.nbytes or 0) + more
    assert both.total == (alone.total or 0) + more
    assert "with the mmproj file mmproj-F32.gguf: 2.56 kB" in both.notes


def test_images_of_a_gguf_model_are_refused_by_name(folder: Path) -> None:
    (image,) = hfinspect.memory(str(folder / "model.gguf"), context=64, image="64x64").media
    assert image.unknown.startswith("llama.cpp counts them by rules of its own")


def test_of_several_none_is_added(folder: Path) -> None:
    (folder / "mmproj-F16.gguf").write_bytes(mmproj())
    alone = hfinspect.memory(str(MODEL), context=64)
    assert hfinspect.memory(str(folder / "model.gguf"), context=64).total == alone.total


def test_a_file_that_only_has_the_name_is_not_added(folder: Path) -> None:
    (folder / "mmproj-F32.gguf").write_bytes(mmproj("model"))
    alone = hfinspect.memory(str(MODEL), context=64)
    assert hfinspect.memory(str(folder / "model.gguf"), context=64).total == alone.total


def test_a_broken_one_stops_nothing(folder: Path) -> None:
    (folder / "mmproj-F32.gguf").write_bytes(b"GGUF")
    found = hfinspect.memory(str(folder / "model.gguf"), context=64)
    assert any("mmproj-F32.gguf could not be read" in note for note in found.notes)
