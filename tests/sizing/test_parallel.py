"""Bytes on the fullest of several devices, against sums by hand."""

from __future__ import annotations

from typing import Any

import pytest

import hfinspect
from hfinspect.errors import UsageError
from hfinspect.sizing.engines.registry import ENGINES
from hfinspect.sizing.parallel import stages

from ..cli.program import ROOT
from ..cli.program import hfinspect as program

MODELS = ROOT / "fixtures" / "models"
LLAMA = str(MODELS / "llama-3-8b")
DEEPSEEK = str(MODELS / "deepseek-v3")
GPT_OSS: dict[str, Any] = {
    "model_type": "gpt_oss",
    "architectures": ["GptOssForCausalLM"],
    "num_hidden_layers": 36,
    "hidden_size": 2880,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "intermediate_size": 2880,
    "sliding_window": 128,
    "dtype": "bfloat16",
    "num_local_experts": 128,
    "num_experts_per_tok": 4,
    "vocab_size": 201088,
}


def _per_device(target: Any, **ways: Any) -> int:
    memory = hfinspect.memory(target, context=4096, **ways)
    assert memory.weights.per_device is not None
    return memory.weights.per_device


def test_llama_on_four_devices_by_two_stages() -> None:
    """A layer: 2 · 4096² and 2 · 4096 · 1024 of attention, 3 · 4096 · 14336, cut by four; two norms
    whole. The table is on the first stage, the head and the last norm on the second."""
    layer = 2 * ((2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336) // 4 + 2 * 4096)
    table = 2 * 128_256 * 4096 // 4
    memory = hfinspect.memory(LLAMA, context=8192, tensor_parallel=4, pipeline_parallel=2)
    first, last = memory.stages
    assert (first.first, first.last, first.holds) == (0, 15, ("embedding",))
    assert (last.first, last.last, last.holds) == (16, 31, ("head",))
    assert first.weights == 16 * layer + table
    assert last.weights == 16 * layer + table + 2 * 4096 == memory.weights.per_device
    # Two of the eight key/value heads, 16 of the 32 layers.
    assert first.cache == last.cache == 16 * 2 * (2 * 128) * 2 * 8192
    assert memory.at[-1].stage == 1
    assert memory.total == last.weights + last.cache + memory.workspace.nbytes  # type: ignore[union-attr]


def test_key_heads_fewer_than_devices_are_whole() -> None:
    """Eight key/value heads on 16 devices: each has one, an eighth, not a sixteenth."""
    attention = 2 * (2 * 4096**2 // 16 + 2 * 4096 * 1024 // 8)
    other = 2 * (3 * 4096 * 14336 // 16 + 2 * 4096)
    outside = 2 * (2 * 128_256 * 4096 // 16 + 4096)
    assert _per_device(LLAMA, tensor_parallel=16) == 32 * (attention + other) + outside


def test_deepseek_on_eight_devices_of_experts() -> None:
    """32 of 256 experts of 58 layers, 3 · 7168 · 2048 each; all else on every device."""
    whole = hfinspect.memory(DEEPSEEK, context=4096).weights.nbytes
    assert whole is not None
    expert = 2 * 3 * 7168 * 2048
    memory = hfinspect.memory(DEEPSEEK, context=4096, expert_parallel=8)
    assert memory.weights.per_device == whole - 58 * (256 - 32) * expert == 197_712_519_168
    assert memory.cache is not None
    assert memory.cache.per_token == 70_272
    assert any("data parallel" in note for note in memory.notes)


def test_experts_that_do_not_divide() -> None:
    """256 experts on 10 devices: the fullest has 26."""
    whole = _per_device(DEEPSEEK)
    assert _per_device(DEEPSEEK, expert_parallel=10) == whole - 58 * 230 * 2 * 3 * 7168 * 2048


def test_gpt_oss_by_experts_and_by_width() -> None:
    """An expert: (2880 · 5760 + 5760 + 2880² + 2880) numbers. By experts 128 / 8 = 16 whole ones;
    by width all 128, an eighth of each, but the bias back whole."""
    whole = _per_device(GPT_OSS)
    expert = 2 * (2880 * 5760 + 5760 + 2880**2 + 2880)
    assert _per_device(GPT_OSS, expert_parallel=8) == whole - 36 * 112 * expert
    by_width = 2 * ((2880 * 5760 + 5760 + 2880**2) // 8 + 2880)
    queries = 64 * 64
    keys = 8 * 64
    attention = 2 * ((2880 + 1) * (queries + 2 * keys) // 8 + 2880 * queries // 8 + 2880 + 64 // 8)
    router = 2 * (128 * 2880 + 128)
    layer = 128 * by_width + attention + router + 2 * 2 * 2880
    outside = 2 * (2 * 201_088 * 2880 // 8 + 2880)
    assert _per_device(GPT_OSS, tensor_parallel=8) == 36 * layer + outside


def test_experts_whole_where_tensor_parallelism_is_as_wide() -> None:
    by_both = hfinspect.memory(GPT_OSS, context=4096, tensor_parallel=8, expert_parallel=8)
    by_width = _per_device(GPT_OSS, tensor_parallel=8)
    # The same but for the bias back: of 16 experts, not of 128.
    assert by_both.weights.per_device == by_width - 36 * (128 - 16) * 2 * 2880


def test_a_tied_table_is_on_both_ends() -> None:
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 64,
        "intermediate_size": 96,
        "vocab_size": 1000,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "dtype": "bfloat16",
        "tie_word_embeddings": True,
    }
    memory = hfinspect.memory(config, context=64, pipeline_parallel=4)
    layer = 2 * (4 * 64 * 64 + 3 * 64 * 96 + 2 * 64)
    assert [stage.weights for stage in memory.stages] == [
        layer + 2 * 64_000,
        layer,
        layer,
        layer + 2 * 64_000 + 2 * 64,
    ]


@pytest.mark.parametrize(
    ("engine", "sizes"), [("vllm", [15, 15, 16, 15]), ("sglang", [15, 15, 15, 16])]
)
def test_61_layers_on_four_stages(engine: str, sizes: list[int]) -> None:
    assert [len(part) for part in stages(61, 4, ENGINES[engine])] == sizes


def test_uneven_stages_of_vllm() -> None:
    assert [len(part) for part in stages(62, 4, ENGINES["vllm"])] == [15, 16, 16, 15]
    assert [len(part) for part in stages(63, 4, ENGINES["vllm"])] == [16, 16, 16, 15]


@pytest.mark.parametrize(
    "wrong",
    [
        {"pipeline_parallel": 33},
        {"pipeline_parallel": 0},
        {"expert_parallel": True},
        {"tensor_parallel": 4, "expert_parallel": 3},
        {"engine": "llama.cpp", "tensor_parallel": 2},
    ],
)
def test_what_is_no_way_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        hfinspect.memory(LLAMA, **wrong)


def test_stages_need_known_layers() -> None:
    for config in ({"model_type": "bert"}, {"model_type": "t5"}, {"model_type": "made_up"}):
        with pytest.raises(hfinspect.HfinspectError):
            hfinspect.memory(config, pipeline_parallel=2)


def test_what_an_engine_does_not_do_is_noted() -> None:
    memory = hfinspect.memory(LLAMA, tensor_parallel=3, expert_parallel=3, context=64)
    assert any("32 attention heads do not divide" in note for note in memory.notes)
    assert any("no experts" in note for note in memory.notes)


def test_the_program() -> None:
    shown = program("memory", LLAMA, "--tp", "4", "--pp", "2", "--context", "8k", "--details").out
    assert "Bytes on one device of each stage" in shown
    assert "2,007,769,088" in shown
