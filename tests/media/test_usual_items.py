"""What a first screen says of images and sounds, and that it reads nothing for that."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.media_tokens import USUAL
from hfinspect.media.registry import RULES, count_tokens
from hfinspect.media.usual_items import usual_tokens

from ..cli.program import hfinspect as program
from ..hub_server import HubServer
from ..inspecting.test_mmproj import MODEL, mmproj, pictures
from ..schemas import conforms
from .test_media_in_memory import QWEN, SETTINGS


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(QWEN))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(SETTINGS))
    return tmp_path


def test_files_that_are_near_say_the_tokens(model: Path) -> None:
    inspection = hfinspect.inspect(model)
    (image,) = inspection.media
    assert (image.tokens, image.settings) == (1369, "preprocessor_config.json")
    conforms(inspection.to_dict(), "inspection")
    shown = program(str(model))
    assert "image 1,369 tokens at 1,024 x 1,024; memory --image 1024x1024 for others" in " ".join(
        shown.out.split()
    )


def test_an_mmproj_file_says_it_of_itself_and_of_a_model_next_to_it(tmp_path: Path) -> None:
    (tmp_path / "mmproj-F32.gguf").write_bytes(pictures())
    shutil.copy(MODEL, tmp_path / "model.gguf")
    for target in (tmp_path / "mmproj-F32.gguf", tmp_path):
        (image,) = hfinspect.inspect(target).media
        assert image.tokens == 32 * 32 + 31 + 1  # ends of rows, a marker
    (tmp_path / "mmproj-F32.gguf").write_bytes(mmproj())
    shown = " ".join(program(str(tmp_path)).out.split())
    assert "image tokens unknown: no rule yet for the projector" in shown
    (tmp_path / "mmproj-F32.gguf").write_bytes(b"GGUF")
    assert hfinspect.inspect(tmp_path).media == ()


def test_a_file_that_cannot_be_read_stops_nothing(model: Path) -> None:
    (model / "preprocessor_config.json").write_text("[")
    (image,) = hfinspect.inspect(model).media
    assert image.tokens is None
    (model / "preprocessor_config.json").unlink()
    (model / "preprocessor_config.json").mkdir()
    assert hfinspect.inspect(model).media[0].tokens is None


def test_a_repo_on_the_hub_costs_no_request_more() -> None:
    """The processor's files lie there, and are not read."""
    files = {"config.json": json.dumps(QWEN).encode()}
    with closing(HubServer()) as hub:
        hub.add("org/alone", files)
        hub.add("org/sees", {**files, "preprocessor_config.json": json.dumps(SETTINGS).encode()})
        hfinspect.inspect("org/alone", endpoint=hub.endpoint)
        count = len(hub.meter.requests)
        (image,) = hfinspect.inspect("org/sees", endpoint=hub.endpoint).media
        assert len(hub.meter.requests) == 2 * count
        assert not any("preprocessor" in one.path for one in hub.meter.requests)
    assert image.tokens is None
    assert "which this answer does not read" in image.unknown


@pytest.mark.parametrize(
    ("kind", "config", "settings"),
    [
        ("gemma3", {"mm_tokens_per_image": 64}, {"image_seq_length": 64}),
        (
            "gemma3n",
            {"vision_soft_tokens_per_image": 128, "audio_soft_tokens_per_image": 94},
            {"image_seq_length": 128, "audio_seq_length": 94},
        ),
        ("blip-2", {"num_query_tokens": 32}, {"num_query_tokens": 32}),
        (
            "paligemma",
            {"vision_config": {"image_size": 448, "patch_size": 14}},
            {"image_processor": {"image_seq_length": 1024}},
        ),
        (
            "voxtral",
            {"audio_config": {"hidden_size": 1280, "intermediate_size": 5120}},
            {"feature_extractor": {"chunk_length": 30, "hop_length": 160, "sampling_rate": 16000}},
        ),
    ],
)
def test_what_config_json_declares_is_what_the_processor_writes(
    kind: str, config: dict[str, Any], settings: dict[str, Any]
) -> None:
    declared = usual_tokens(kind, config, {})
    assert declared
    for one, item in zip(declared, [x for x in USUAL if _takes(kind, x.kind)], strict=True):
        counted = count_tokens(item, kind, config, {"processor_config.json": settings})
        assert one.tokens == counted.tokens
        assert one.settings == "config.json"


def _takes(kind: str, item: str) -> bool:
    return kind == "gemma3n" or (item == "audio") == (kind == "voxtral")


def test_no_line_of_what_has_no_rule() -> None:
    assert usual_tokens("llama", {}, {}) == ()
    assert usual_tokens("phi3_v", {}, {}) == ()
    videos_alone = {kind for kind in RULES if not usual_tokens(kind, {}, {})}
    assert videos_alone == {"instructblipvideo"}
