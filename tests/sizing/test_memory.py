"""The whole sum: known numbers, engines, devices, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

import hfinspect
from hfinspect.core.cache_size import ENCODES
from hfinspect.core.choices import ENGINES as SHOWN
from hfinspect.errors import UsageError
from hfinspect.sizing.engines.cache_dtypes import bytes_an_element, spelled_dtype
from hfinspect.sizing.engines.registry import ENGINES, find_engine

from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..schemas import conforms

MODELS = ROOT / "fixtures" / "models"
LLAMA = str(MODELS / "llama-3-8b")
GPT_OSS: dict[str, Any] = {
    "model_type": "gpt_oss",
    "architectures": ["GptOssForCausalLM"],
    "num_hidden_layers": 36,
    "hidden_size": 2880,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "sliding_window": 128,
    "dtype": "bfloat16",
    "num_local_experts": 2,
    "vocab_size": 1000,
}
MAMBA: dict[str, Any] = {
    "model_type": "mamba2",
    "architectures": ["Mamba2ForCausalLM"],
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_heads": 8,
    "head_dim": 16,
    "state_size": 12,
    "n_groups": 2,
    "dtype": "bfloat16",
    "vocab_size": 100,
}


def test_llama_by_hand() -> None:
    """2 · 32 layers · 8 heads · 128 wide · 2 bytes a token, and the weights of its files."""
    memory = hfinspect.memory(LLAMA, context=8192, batch=2)
    assert memory.cache is not None
    assert memory.cache.per_token == 2 * 32 * 8 * 128 * 2 == 131_072
    assert memory.cache.nbytes == memory.cache.kv_bytes == 131_072 * 8192 * 2
    assert memory.weights.nbytes == 8_030_261_248 * 2
    assert memory.total == memory.weights.nbytes + memory.cache.nbytes + memory.workspace.nbytes  # type: ignore[union-attr]


def test_latents_are_not_divided_by_devices() -> None:
    one, eight = (
        hfinspect.memory(str(MODELS / "deepseek-v3"), context=4096, tensor_parallel=n)
        for n in (1, 8)
    )
    assert one.cache is not None
    assert eight.cache is not None
    assert one.cache.per_token == eight.cache.per_token == 61 * (512 + 64) * 2 == 70_272
    assert one.weights.nbytes == eight.weights.nbytes
    assert eight.weights.per_device is not None
    assert one.weights.per_device is not None
    assert one.weights.per_device / 8 < eight.weights.per_device < one.weights.per_device / 7.5


def test_key_heads_fewer_than_devices_are_held_once_each() -> None:
    """8 key/value heads on 16 devices: each holds one, as if there were 16."""
    sizes = [hfinspect.memory(LLAMA, context=1024, tensor_parallel=n).cache for n in (1, 8, 16)]
    assert [size and size.per_token for size in sizes] == [131_072, 16_384, 16_384]


def test_windows_fill() -> None:
    """Half of gpt-oss's layers look 128 tokens back: 73,728 bytes a token before, 36,864 after."""
    memory = hfinspect.memory(GPT_OSS, context=1000)
    assert memory.cache is not None
    assert (memory.cache.per_token_first, memory.cache.per_token) == (73_728, 36_864)
    assert memory.cache.knee == 127
    assert memory.cache.nbytes == 18 * 2048 * (1000 + 127)


def test_a_state_does_not_grow() -> None:
    """3 layers of 128 · 12 numbers in float32 and (128 + 2 · 2 · 12) · (4 - 1) in bfloat16."""
    sizes = [hfinspect.memory(MAMBA, context=n).cache for n in (10, 10_000)]
    assert sizes[0] is not None
    assert sizes[1] is not None
    assert sizes[0].nbytes == sizes[1].nbytes == 3 * (128 * 12 * 4 + (128 + 48) * 3 * 2)
    assert sizes[0].per_token == sizes[0].kv_bytes == 0


@pytest.mark.parametrize(
    ("engine", "rows"),
    [
        ("logical", 127),
        ("transformers", 127),
        ("transformers-static", 128),
        ("sglang", 127),
        ("vllm", 16 * (-(-(127 + 2 * 8192) // 16) + 1)),
        ("llama.cpp", 768),
    ],
)
def test_a_window_by_engine(engine: str, rows: int) -> None:
    """Rows of one windowed layer at 131,072 tokens. vLLM: 1,033 blocks. llama.cpp: 128 + 512 cells,
    in steps of 256."""
    assert ENGINES[engine].rows(128, 131_072, 1) == rows


@pytest.mark.parametrize(
    ("window", "cells", "batch", "ubatch"),
    [(128, 2304, 1, 2048), (2048, 2560, 1, 512), (1024, 4608, 4, 512), (128, 768, 1, 512)],
)
def test_llama_cpp_cells(window: int, cells: int, batch: int, ubatch: int) -> None:
    """What its logs say: gpt-oss 20B, Muse-Glimmer 30B, Gemma 4 12B."""
    assert find_engine("llama.cpp", ubatch).rows(window, 40_000, batch) == cells


@pytest.mark.parametrize(
    ("dtype", "size"), [("q8_0", 1.0625), ("q4_0", 0.5625), ("q5_1", 0.75), ("fp8", 1), ("f16", 2)]
)
def test_cache_dtypes(dtype: str, size: float) -> None:
    assert float(bytes_an_element(spelled_dtype(dtype))) == size


def test_an_encoder_keeps_nothing() -> None:
    memory = hfinspect.memory(str(MODELS / "bert-base-uncased"))
    assert memory.cache is None
    assert "encoder" in memory.cache_unknown


def test_weights_of_no_dtype_are_unknown_by_that_reason() -> None:
    assert hfinspect.memory(str(MODELS / "gpt2")).weights.unknown == "its config names no dtype"


def test_an_older_llama_cpp_made_a_cache_for_encoders() -> None:
    """A log of its tests with bge-small: 9.0 MiB, 512 cells of 12 layers of 384 + 384 in F16."""
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": 384,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
    }
    memory = hfinspect.memory(config, engine="llama.cpp", context=512)
    assert memory.cache is None
    assert "before May 2025 made a cache of 9,437,184 bytes" in memory.notes[0]


@pytest.mark.parametrize(
    ("model_type", "class_name"),
    [
        ("t5", "T5EncoderModel"),
        ("t5", "T5ForTokenClassification"),
        ("mt5", "MT5EncoderModel"),
        ("bert-generation", "BertGenerationEncoder"),
        ("prophetnet", "ProphetNetEncoder"),
        ("switch_transformers", "SwitchTransformersEncoderModel"),
    ],
)
def test_an_encoder_of_an_encoder_decoder_keeps_nothing(model_type: str, class_name: str) -> None:
    memory = hfinspect.memory({"model_type": model_type, "architectures": [class_name]})
    assert (memory.cache, memory.cache_unknown) == (None, ENCODES)


def test_a_decoder_of_sound_keeps_its_own_keys_and_values() -> None:
    """MusicGen's 24 layers of 1,024, and next to its text encoder those of five positions."""
    own = 24 * 2 * 1024 * 128
    alone = {"model_type": "musicgen_decoder", "architectures": ["MusicgenForCausalLM"]}
    whole = {"model_type": "musicgen", "architectures": ["MusicgenForConditionalGeneration"]}
    for config, elements in ((alone, own), (whole, own + 24 * 2 * 1024 * 5)):
        memory = hfinspect.memory(config, context=128, encoder_tokens=5, cache_dtype="bf16")
        assert memory.cache is not None
        assert memory.cache.kv_bytes == 2 * elements


@pytest.mark.parametrize(
    ("model_type", "class_name", "engine", "words"),
    [
        ("openai-gpt", "OpenAIGPTLMHeadModel", "transformers", "has no cache for it"),
        ("musicgen_melody", "MusicgenMelodyForConditionalGeneration", "logical", "melody stand"),
    ],
)
def test_what_no_cache_holds_is_refused(
    model_type: str, class_name: str, engine: str, words: str
) -> None:
    config = {"model_type": model_type, "architectures": [class_name]}
    assert words in hfinspect.memory(config, engine=engine).cache_unknown


def test_what_fits_is_the_longest_that_fits() -> None:
    memory = hfinspect.memory(LLAMA, on="RTX 4090", batch=12, context=4096)
    assert memory.fits
    assert memory.max_context is not None
    assert 4096 < memory.max_context < 8192
    assert not memory.holds_more
    longest, over = (
        hfinspect.memory(LLAMA, on="RTX 4090", batch=12, context=memory.max_context + more)
        for more in (0, 1)
    )
    assert longest.fits
    assert over.fits is False


def test_an_unknown_layout_is_refused_by_its_reason() -> None:
    config = {"model_type": "deepseek_v4", "num_hidden_layers": 3}
    memory = hfinspect.memory(config, engine="transformers-static")
    assert memory.at == ()
    assert "no StaticCache" in memory.cache_unknown
    assert "is unknown" in hfinspect.memory(config, engine="vllm").cache_unknown
    assert hfinspect.memory(config).cache is not None


@pytest.mark.parametrize(("tokens", "nbytes"), [(64, 6_447_104), (128, 6_639_616)])
def test_compressed_keys(tokens: int, nbytes: int) -> None:
    """DeepSeek-V4's default: 43 windows of 128, 23 compressors of 128 tokens, 20 of 4 tokens with
    an indexer next to them, as transformers holds them."""
    config = {
        "model_type": "deepseek_v4",
        "architectures": ["DeepseekV4ForCausalLM"],
        "num_hidden_layers": 43,
        "dtype": "bfloat16",
    }
    memory = hfinspect.memory(config, context=tokens, engine="transformers")
    assert memory.cache is not None
    assert memory.cache.kv_bytes == memory.cache.nbytes == nbytes


@pytest.mark.parametrize(
    "wrong",
    [
        {"engine": "vlm"},
        {"context": "much"},
        {"context": 0},
        {"batch": 0},
        {"batch": True},
        {"on": "24"},
        {"cache_dtype": "int3"},
        {"tensor_parallel": 0},
        {"encoder_tokens": -1},
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        hfinspect.memory(LLAMA, **wrong)


def test_weights_too_large_by_themselves_do_not_fit() -> None:
    """Also where the cache is not known."""
    config = {"model_type": "bamba", "architectures": ["BambaForCausalLM"], "dtype": "bfloat16"}
    for device, fits in (("8GB", False), ("4x8GB", None), ("80GB", None)):
        memory = hfinspect.memory(config, engine="sglang", on=device)
        assert (memory.cache, memory.fits) == (None, fits)
    done = program(
        "memory", MODELS / "openai-gpt", "--on", "1MB", "--engine", "vllm", "--set", "dtype=float32"
    )
    assert (done.code, "does not fit: at least 466 MB" in done.out) == (1, True)


def test_a_number_needs_a_unit() -> None:
    with pytest.raises(UsageError, match="has no unit") as caught:
        hfinspect.memory(LLAMA, on="24")
    assert caught.value.expected == "24GB or 24GiB"


def test_the_engines_of_help_are_those_with_rules() -> None:
    assert list(ENGINES) == list(SHOWN)


@pytest.mark.parametrize("model", sorted(path.name for path in MODELS.iterdir()))
def test_the_json_form(model: str) -> None:
    done = program("memory", MODELS / model, "--on", "8GB", "-f", "json")
    answer = json.loads(done.out)
    conforms(answer, "memory")
    assert done.code == (1 if answer["fits"] is False else 0)


def test_the_program() -> None:
    done = program("memory", LLAMA, "--context", "32k", "--batch", "4", "--on", "24GB")
    assert done.code == 1
    assert "does not fit: 34.4 GB at 32,768 tokens, batch 4" in done.out
    assert "more than the 8,192 that the config allows" in done.out
    csv = program("memory", LLAMA, "-f", "csv").out.splitlines()
    assert csv[0].startswith("context,batch,weights_nbytes")
    assert csv[1].startswith("8192,1,16060522496,1073741824,0,")
    assert program("memory", LLAMA, "--context", "nonsense").code == 2
