"""mmproj files: a part of a GGUF model, counted by itself and sized next to the model."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

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
    inspection = hfinspect.inspect(str(folder / "mmproj-F32.gguf"))
    assert inspection.adapter is None
    counts = {
        str(name): sums.parameters
        for name, sums in inspection.components.items()
        if sums.parameters
    }
    assert counts == {"attention": 16 * 32, "projector": 8 * 16}
    (note,) = [one.text for one in inspection.findings if one.rule == "mmproj"]
    assert "images of 336 pixels in patches of 14" in note
    assert "\x1b" not in note


def test_memory_adds_the_one_that_lies_next_to_a_model(folder: Path) -> None:
    alone = hfinspect.memory(str(MODEL), context=64)
    both = hfinspect.memory(str(folder / "model.gguf"), context=64)
    more = (16 * 32 + 8 * 16) * 4
    assert both.weights.nbytes == (alone.weights.nbytes or 0) + more
    assert both.total == (alone.total or 0) + more
    assert "with the mmproj file mmproj-F32.gguf: 2.56 kB" in both.notes


def pictures(**numbers: int) -> bytes:
    """The same file of a projector that has a rule."""
    made = GgufWriter().text("general.architecture", "clip").text("general.type", "mmproj")
    made.raw_key("clip.has_vision_encoder", BOOL, b"\x01").text("clip.projector_type", "pixtral")
    for key, number in {"image_size": 1024, "patch_size": 16, **numbers}.items():
        made.u32(f"clip.vision.{key}", number)
    made.tensor("v.token_embd.img_break", (16,), 0, 0)
    return made.bytes(16 * 4)


def test_images_are_counted_by_the_keys_of_the_file(folder: Path) -> None:
    """As recorded from llama.cpp: 640 x 480 is 40 x 30 patches, an end for each row but one, a
    marker; 1,024 of the tokens at most."""
    (folder / "mmproj-F32.gguf").write_bytes(pictures())
    alone = hfinspect.memory(str(MODEL), context=64)
    sized = hfinspect.memory(str(folder / "model.gguf"), context=64, image="640x480", images=2)
    (image,) = sized.media
    assert image.tokens == 999
    assert image.settings == "mmproj-F32.gguf, as llama.cpp counts"
    assert sized.main is not None and alone.main is not None
    assert sized.main.context == 64 + 2 * 999
    per_token = alone.cache.per_token if alone.cache is not None else 0
    assert image.cache_bytes == 999 * per_token
    merged = pictures(spatial_merge_size=2)
    (folder / "mmproj-F32.gguf").write_bytes(merged)
    (image,) = hfinspect.memory(str(folder), image="640x480").media
    assert image.tokens == 20 * 15 + 14 + 1


def test_what_has_no_rule_is_refused_by_name(folder: Path) -> None:
    def unknown(**items: Any) -> str:
        (image,) = hfinspect.memory(str(folder / "model.gguf"), context=64, **items).media
        return image.unknown

    assert (
        unknown(image="64x64") == "no rule yet for the projector 'mlp\\x1b[31m' of the mmproj file"
    )
    assert unknown(audio="3s") == "the mmproj file has no audio encoder"
    assert unknown(video="64x64x8") == "no rule yet for videos in llama.cpp"
    (folder / "mmproj-F32.gguf").unlink()
    assert unknown(image="64x64") == "there is no mmproj file next to the model"


def test_of_several_the_keys_of_the_first_count(folder: Path) -> None:
    for name in ("mmproj-F16.gguf", "mmproj-F32.gguf"):
        (folder / name).write_bytes(pictures())
    sized = hfinspect.memory(str(folder / "model.gguf"), context=64, image="640x480")
    assert [image.tokens for image in sized.media] == [999]
    assert sized.media[0].settings.startswith("mmproj-F16.gguf")
    assert not any("with the mmproj file" in note for note in sized.notes)


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
    memory = hfinspect.memory(str(folder / "model.gguf"), context=64)
    assert any("mmproj-F32.gguf could not be read" in note for note in memory.notes)
