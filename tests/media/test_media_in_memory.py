"""``--image``, ``--video`` and ``--audio``: tokens in the context, bytes in the cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.library_versions import TRANSFORMERS
from hfinspect.core.media_tokens import ImageItem
from hfinspect.errors import UsageError
from hfinspect.media.reading_items import media_items
from hfinspect.media.registry import count_tokens

from ..cli.program import hfinspect as program
from ..schemas import conforms

QWEN: dict[str, Any] = {
    "model_type": "qwen2_vl",
    "architectures": ["Qwen2VLForConditionalGeneration"],
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "max_position_embeddings": 32768,
    "torch_dtype": "bfloat16",
    "vision_config": {"depth": 1, "embed_dim": 32, "num_heads": 2, "hidden_size": 64},
}
SETTINGS = {
    "min_pixels": 3136,
    "max_pixels": 12845056,
    "patch_size": 14,
    "temporal_patch_size": 2,
    "merge_size": 2,
}
#: 2 layers, keys and values, 2 heads of 16, 2 bytes.
PER_TOKEN = 2 * 2 * 2 * 16 * 2
MLLAMA: dict[str, Any] = {
    "model_type": "mllama",
    "architectures": ["MllamaForConditionalGeneration"],
    "torch_dtype": "bfloat16",
    "text_config": {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "cross_attention_layers": [1],
        "vocab_size": 1000,
    },
    "vision_config": {"image_size": 560, "patch_size": 14, "hidden_size": 32},
}


BLIP: dict[str, Any] = {
    "model_type": "blip",
    "architectures": ["BlipForConditionalGeneration"],
    "dtype": "bfloat16",
    "text_config": {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 1000,
    },
    "vision_config": {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2},
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(QWEN))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(SETTINGS))
    return tmp_path


def test_images_are_added_to_a_context(model: Path) -> None:
    """1,024 is rounded to 1,036 = 37 x 28 pixels: 37 · 37 tokens."""
    memory = hfinspect.memory(str(model), context=4096, image="1024x1024", images=4)
    (image,) = memory.media
    assert image.tokens == 37 * 37 == 1369
    assert image.cache_bytes == 1369 * PER_TOKEN
    assert image.settings == "preprocessor_config.json"
    assert memory.main is not None
    assert memory.main.context == 4096 + 4 * 1369
    assert memory.to_dict()["media"][0]["count"] == 4
    conforms(memory.to_dict(), "memory")


def test_the_command_line_says_it(model: Path) -> None:
    shown = program("memory", str(model), "--image", "1024x1024", "--images", "4")
    line = "image 1,024 x 1,024: 1,369 tokens, 350 kB of cache; 4 take 5,476 tokens"
    assert line in " ".join(shown.out.split())
    told = program("memory", str(model), "--audio", "3s", "--details")
    assert "audio 3 s: tokens unknown: the processor of qwen2_vl takes no audio" in " ".join(
        told.out.split()
    )


def test_without_its_file_the_library_s_defaults_are_named(model: Path) -> None:
    (model / "preprocessor_config.json").unlink()
    (image,) = hfinspect.memory(str(model), image="1024x1024").media
    assert image.tokens == 1225
    assert image.settings == f"the defaults of transformers {TRANSFORMERS}"


def test_defaults_that_are_not_the_model_s_are_no_answer() -> None:
    config = {**QWEN, "vision_config": {**QWEN["vision_config"], "patch_size": 16}}
    (image,) = hfinspect.memory(config, image="64x64").media
    assert image.tokens is None
    assert "patch_size 14 is not the model's 16" in image.unknown


def test_a_broken_file_is_named(model: Path) -> None:
    (model / "preprocessor_config.json").write_text("[")
    memory = hfinspect.memory(str(model), image="1024x1024")
    assert memory.media[0].settings == f"the defaults of transformers {TRANSFORMERS}"
    assert any("preprocessor_config.json could not be read" in note for note in memory.notes)


def test_no_such_file_ends_the_rest_of_the_answer(model: Path) -> None:
    """A link that leads nowhere, a list, and a file that is too large."""
    file = model / "preprocessor_config.json"
    file.write_text("[1]")
    answer = hfinspect.memory(str(model), image="64x64")
    assert any("preprocessor_config.json holds no settings" in note for note in answer.notes)
    file.unlink()
    file.symlink_to(model / "nowhere")
    answer = hfinspect.memory(str(model), image="64x64")
    assert answer.media[0].tokens and answer.cache is not None
    assert any("link that leads nowhere" in note for note in answer.notes)
    file.unlink()
    file.write_text('{"a": "' + "x" * 50_000_000 + '"}')
    answer = hfinspect.memory(str(model), image="64x64")
    assert any("preprocessor_config.json could not be read" in note for note in answer.notes)


def test_cross_attention_keeps_an_image() -> None:
    """One of four layers: 4 tiles of 1,601 rows, 2 heads of 16, keys and values, 2 bytes."""
    without = hfinspect.memory(MLLAMA, context=100)
    memory = hfinspect.memory(MLLAMA, context=100, image="500x500", images=2)
    (image,) = memory.media
    assert (image.tokens, image.cross_tokens) == (1, 6404)
    assert memory.cache is not None and without.cache is not None
    kept = 6404 * 2 * 2 * 16 * 2
    grown = 2 * without.cache.per_token
    assert memory.cache.nbytes - without.cache.nbytes == 2 * kept + grown


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"image": "1024"}, "image '1024': is not a size"),
        ({"image": "0x5"}, "is not a size"),
        ({"image": "70000x5"}, "is not a size"),
        ({"images": 2}, "images: needs their size"),
        ({"image": "5x5", "images": 0}, "images 0: is not possible"),
        ({"video": "640x480"}, "video '640x480': is not a size"),
        ({"audio": "long"}, "audio 'long': is not a length"),
        ({"audio": "90000s"}, "is not a length"),
        ({"audio": ""}, "is not a length"),
    ],
)
def test_what_is_no_size_is_an_error(asked: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        hfinspect.memory(QWEN, **asked)


def test_lengths_are_read_as_they_are_written() -> None:
    for text, count in (("30s", 30_000), ("2.5", 2_500), ("1m30s", 90_000), ("500ms", 500)):
        ((item, _),) = media_items(None, 1, None, text)
        assert item.label == f"{count / 1000:g} s"


def test_what_an_encoder_sees_takes_positions_next_to_the_text() -> None:
    """24 x 24 patches and a class token: 577 rows of 64 keys and 64 values in 2 layers."""
    answer = hfinspect.memory(BLIP, image="1024x768", context=16)
    (image,) = answer.media
    assert (image.tokens, image.cross_tokens) == (0, 577)
    assert image.cache_bytes == 577 * 2 * 2 * 64 * 2
    assert answer.main is not None and answer.main.context == 16
    assert answer.cache is not None and answer.cache.encoder_tokens == 577


def test_the_line_leaves_out_that_the_text_has_no_token(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(BLIP))
    shown = " ".join(program("memory", str(tmp_path), "--image", "1024x768").out.split())
    assert "image 1,024 x 768: 577 positions of cross-attention, 295 kB of cache (by" in shown
    several = hfinspect.memory(BLIP, image="64x64", images=2).media[0]
    assert several.unknown == "blip sees one image a sequence"


def test_a_page_that_is_not_padded_has_no_fixed_number() -> None:
    donut: dict[str, Any] = {
        "model_type": "vision-encoder-decoder",
        "encoder": {"model_type": "donut-swin"},
    }
    for more, reason in (({"do_pad": False}, "keep their own size"), ({}, "")):
        given = {"preprocessor_config.json": {"size": [1920, 2560], **more}}
        image = count_tokens(ImageItem(9, 9), "vision-encoder-decoder", donut, given)
        assert reason in image.unknown
    assert image.cross_tokens == 80 * 60
    donut["encoder"] = {"model_type": "clip_vision_model"}
    image = count_tokens(ImageItem(9, 9), "vision-encoder-decoder", donut, given)
    assert "no rule yet for the encoder 'clip_vision_model'" in image.unknown
