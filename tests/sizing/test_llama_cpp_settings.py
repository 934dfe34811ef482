"""Settings of llama-server under ``memory``: what they change, and who refuses them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.errors import UsageError

LLAMA = str(Path(__file__).parents[2] / "fixtures" / "models" / "llama-3-8b")
GPT_OSS = str(Path(__file__).parents[2] / "fixtures" / "models" / "gpt-oss-120b")


def cache(model: str, **settings: Any) -> int:
    cache_size = hfinspect.memory(model, engine="llama.cpp", context=8192, **settings).cache
    assert cache_size is not None
    return cache_size.nbytes


def test_slots_widen_windows_only() -> None:
    assert cache(LLAMA, slots=4) == cache(LLAMA)
    rows = cache(GPT_OSS, slots=4) - cache(GPT_OSS)
    # 18 windowed layers: 4 x 128 + 512 cells instead of 128 + 512, in steps of 256
    assert rows == 18 * (1024 - 768) * 2 * 8 * 64 * 2


def test_split_slots_have_the_context_each() -> None:
    assert cache(LLAMA, slots=4, split_cache=True) == 4 * cache(LLAMA)


def test_keys_and_values_in_two_dtypes() -> None:
    half = cache(LLAMA) // 2
    assert cache(LLAMA, cache_dtype="q8_0/f16") == half * 34 // 64 + half
    assert cache(LLAMA, cache_dtype="f16/f16") == cache(LLAMA)


def test_logits_are_of_one_token_a_slot() -> None:
    alone = hfinspect.memory(LLAMA, engine="llama.cpp", context=8192)
    served = hfinspect.memory(LLAMA, engine="llama.cpp", context=8192, slots=4)
    assert alone.main is not None and served.main is not None
    assert alone.main.workspace is not None and served.main.workspace is not None
    assert alone.main.workspace.logits == 512 * 128256 * 4
    assert served.main.workspace.nbytes < alone.main.workspace.nbytes


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"engine": "vllm", "slots": 4}, "not a setting of engine vllm"),
        ({"engine": "vllm", "swa_full": True}, "not a setting of engine vllm"),
        ({"engine": "logical", "flash_attention": False}, "not a setting of engine logical"),
        ({"engine": "vllm", "cache_dtype": "q8_0/f16"}, "names two dtypes"),
        ({"engine": "llama.cpp", "slots": 0}, "not possible"),
        ({"engine": "llama.cpp", "slots": 257}, "not possible"),
        ({"engine": "llama.cpp", "slots": 2, "batch": 3}, "more than the 2 slots"),
        ({"engine": "llama.cpp", "cache_dtype": "f16/nosuch"}, "unknown"),
        (
            {"engine": "llama.cpp", "cache_dtype": "f16/q8_0", "flash_attention": False},
            "does not fit",
        ),
    ],
)
def test_refusals_say_why(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        hfinspect.memory(LLAMA, **settings)
