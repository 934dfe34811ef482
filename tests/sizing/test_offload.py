"""How many layers go to the GPU with llama.cpp, on GGUF files whose bytes are known by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hfinspect
from hfinspect.core.footprint import Memory
from hfinspect.core.offload_plan import Offload

from ..cli.program import hfinspect as program
from ..schemas import conforms
from .llama_gguf import llama_file

#: Matrices in Q8_0 (34 bytes for 32 numbers), norms in float32; width 64, 4 heads of 16, 2 of them
#: for keys, inner width 96, 128 tokens. Of a layer: queries and output 64 · 68 each, keys and
#: values 32 · 68 each, gate and up 96 · 68 each, down 64 · 102, two norms of 256.
LAYER = 2 * 64 * 68 + 2 * 32 * 68 + 2 * 96 * 68 + 64 * 102 + 2 * 256
TABLE = 128 * 68
OUTPUT = TABLE + 256
#: Keys and values of a layer: 256 cells of 32 + 32 numbers in F16.
KEPT = 256 * 64 * 2
#: Four experts of inner width 96 in place of the feed-forward layer, and their router.
EXPERTS = 4 * (2 * 96 * 68 + 64 * 102)
ROUTER = 4 * 64 * 4


def _sized(path: Path, on: str | None = None) -> Memory:
    return hfinspect.memory(path, engine="llama.cpp", context=256, on=on)


def _offload(path: Path, on: str | None = None) -> Offload:
    memory = _sized(path, on)
    assert memory.offload is not None, memory.offload_unknown or memory.cache_unknown
    return memory.offload


def _workspace(path: Path) -> int:
    """What test_llama_cpp_graph.py compares with a real llama.cpp."""
    workspace = _sized(path).workspace
    assert workspace is not None
    return workspace.nbytes


def test_weights_by_layer(tmp_path: Path) -> None:
    offload = _offload(llama_file(tmp_path))
    assert (offload.input, offload.output, offload.everywhere) == (TABLE, OUTPUT, 0)
    (group,) = offload.layers
    assert (group.first, group.last) == (0, 3)
    assert (group.weights, group.experts, group.cache) == (LAYER, 0, KEPT)
    assert offload.plans == ()


@pytest.mark.parametrize("layers", [0, 1, 2, 3, 4])
def test_the_most_layers_that_fit(layers: int, tmp_path: Path) -> None:
    """The output layer is the first of ``-ngl``; one byte less holds a layer less."""
    path = llama_file(tmp_path)
    needed = _workspace(path) + OUTPUT + layers * (LAYER + KEPT)
    (plan,) = _offload(path, f"{needed}B").plans
    assert (plan.flags, plan.fullest) == (f"-ngl {layers + 1}", needed)
    assert (plan.gpu_weights, plan.gpu_cache) == (OUTPUT + layers * LAYER, layers * KEPT)
    assert plan.cpu_weights == TABLE + (4 - layers) * LAYER
    assert plan.cpu_cache == (4 - layers) * KEPT
    fewer = _offload(path, f"{needed - 1}B").plans
    assert [plan.gpu_layers for plan in fewer] == ([layers] if layers else [])


def test_the_sum_is_that_of_all_layers_on_the_gpu(tmp_path: Path) -> None:
    """The table of tokens stays on the CPU, so that it is in no device's sum."""
    path = llama_file(tmp_path)
    whole = _workspace(path) + OUTPUT + 4 * (LAYER + KEPT)
    memory = _sized(path, f"{whole}B")
    assert (memory.total, memory.fits) == (whole, True)
    assert memory.weights.per_device == OUTPUT + 4 * LAYER
    assert memory.weights.nbytes == TABLE + OUTPUT + 4 * LAYER
    assert _sized(path, f"{whole - 1}B").fits is False


def test_a_tied_head_is_a_copy_of_the_table(tmp_path: Path) -> None:
    (plan,) = _offload(llama_file(tmp_path, head=False), "1GB").plans
    assert plan.gpu_weights == OUTPUT + 4 * LAYER
    assert plan.cpu_weights == TABLE


def test_experts_on_the_cpu(tmp_path: Path) -> None:
    """Two of four layers' experts stay on the CPU where two fit; attention of all is on the GPU."""
    path = llama_file(tmp_path, experts=4)
    dense = LAYER - (2 * 96 * 68 + 64 * 102) + ROUTER
    offload = _offload(path)
    assert [(group.weights, group.experts) for group in offload.layers] == [
        (dense + EXPERTS, EXPERTS)
    ]
    work = _workspace(path)
    needed = work + OUTPUT + 4 * (dense + KEPT) + 2 * EXPERTS
    plain, split = _offload(path, f"{needed}B").plans
    assert plain.flags == "-ngl 3"
    assert split.flags == "-ngl 5 --n-cpu-moe 2"
    assert (split.fullest, split.cpu_weights) == (needed, TABLE + 2 * EXPERTS)
    _, less = _offload(path, f"{needed - 2 * EXPERTS}B").plans
    assert less.flags == "-ngl 5 --cpu-moe"
    _, least = _offload(path, f"{needed - 2 * EXPERTS - 1}B").plans
    assert least.flags == "-ngl 4 --cpu-moe"
    (whole,) = _offload(path, "1GB").plans
    assert whole.flags == "-ngl 5"


def test_two_gpus_share_the_layers(tmp_path: Path) -> None:
    """Of four layers and the output the first GPU has ⌈5 / 2⌉ = 3: the fullest decides."""
    path = llama_file(tmp_path)
    needed = _workspace(path) + 3 * (LAYER + KEPT)
    memory = _sized(path, f"2x{needed}B")
    assert memory.offload is not None
    (plan,) = memory.offload.plans
    assert (plan.flags, plan.fullest) == ("-ngl 5", needed)
    assert (memory.fits, memory.total) == (True, needed)
    assert _sized(path, f"2x{needed - 1}B").fits is False


def test_a_config_is_planned_by_its_own_bytes() -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 96,
        "vocab_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "dtype": "bfloat16",
        "architectures": ["LlamaForCausalLM"],
        "tie_word_embeddings": True,
    }
    memory = hfinspect.memory(config, engine="llama.cpp", context=256, on="1GB")
    assert memory.offload is not None
    (group,) = memory.offload.layers
    assert group.weights == 2 * (4 * 64 * 64 + 3 * 64 * 96 + 2 * 64)
    assert memory.offload.output == memory.offload.input + 2 * 64 == 2 * (128 * 64 + 64)
    assert any("GGUF" in note for note in memory.notes)


def test_what_is_not_planned_says_why() -> None:
    t5 = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "dtype": "bfloat16"}
    memory = hfinspect.memory(t5, engine="llama.cpp")
    assert "encoder-decoder" in memory.offload_unknown
    assert hfinspect.memory(t5).offload_unknown == ""


def test_the_program_shows_the_plan(tmp_path: Path) -> None:
    path = llama_file(tmp_path, experts=4)
    arguments = ("memory", path, "--engine", "llama.cpp", "--on", f"{_workspace(path) + 201_000}B")
    done = program(*arguments, "-f", "json")
    conforms(json.loads(done.out), "memory")
    assert done.code == 1
    shown = program(*arguments, env={"COLUMNS": "200"}).out
    assert "-ngl 5 --cpu-moe" in shown
    assert "Bytes by layer" not in shown
    assert "Bytes by layer" in program(*arguments, "--details").out
