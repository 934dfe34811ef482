"""The limit of llama.cpp's compute buffer next to what a real one reserved: never below, of any
file of the record, and at most 1.5 times of it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from hfinspect import api
from hfinspect.analysis.gguf.gguf_cache import CacheLayout, cache_layout
from hfinspect.sizing.engines.cache_dtypes import bytes_an_element, spelled_dtype
from hfinspect.sizing.engines.llama_cpp_graph import WITHOUT_FLASH, Graph, graph_of
from hfinspect.sizing.engines.llama_cpp_step import Step
from hfinspect.sizing.gguf_layers import (
    deepstack_layers,
    indexing_of,
    layers_of_layout,
    tree_of_file,
)
from hfinspect.sizing.kv_cache import decoder_stacks
from tests.sizing.llama_cpp_record import FULL_SIZE, Recorded, Reserved, Setting, recorded
from tests.some_rows import one_of

_LIMIT = 1.5


def step_of(setting: Setting, architecture: str) -> Step:
    return Step(
        setting.n_ctx,
        setting.n_seq_max,
        setting.n_ubatch,
        setting.kv_unified,
        setting.swa_full,
        setting.flash_attn and architecture not in WITHOUT_FLASH,
        setting.n_outputs or max(2048, setting.n_ubatch),
        setting.type_k.startswith("q") or setting.type_v.startswith("q"),
        element=bytes_an_element(spelled_dtype(setting.type_k)),
    )


@cache
def graph(one: str, folder: Path) -> Graph | None:
    """Of a recorded file, by way of its header; None where nothing is kept."""
    recording = next(entry for entry in _all() if entry.name == one)
    layout = cache_layout(recording.keys, {name: shape for name, shape, _ in recording.tensors})
    assert isinstance(layout, CacheLayout)
    layers = layers_of_layout(layout)
    if not any(layer.cache for layer in layers):
        return None
    path = folder / f"{recording.name}.gguf"
    path.write_bytes(recording.gguf())
    with path.open("r+b") as file:
        file.truncate(2**42)  # sparse: no weight is there
    inspection = api.inspect(str(path))
    path.unlink()
    facts = inspection.facts
    root = tree_of_file(inspection).root
    return graph_of(
        root,
        layers,
        width=facts.width,
        heads=facts.heads,
        served=facts.experts_per_token,
        name=recording.architecture,
        stacks=tuple(decoder_stacks(root)),
        deepstack=deepstack_layers(inspection, root),
        indexing=indexing_of(inspection),
    )


def _all() -> tuple[Recorded, ...]:
    return (*recorded(), *recorded(FULL_SIZE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("headers")


@pytest.mark.parametrize("one", one_of(2, _all()), ids=lambda one: one.name)
def test_the_limit_is_never_below_and_at_most_half_above(one: Recorded, folder: Path) -> None:
    made = graph(one.name, folder)
    if made is None:
        for real in one.settings.values():
            assert isinstance(real, str) or real.kv + real.rs == 0
        return
    for setting, real in one.settings.items():
        if isinstance(real, Reserved):
            moment = made.largest(step_of(setting, one.architecture))
            assert real.compute <= moment.nbytes <= _LIMIT * real.compute, (setting, moment)


def test_models_of_full_size_are_recorded() -> None:
    full = recorded(FULL_SIZE)
    assert len(full) >= 55
    assert sum(isinstance(real, Reserved) for one in full for real in one.settings.values()) > 600


def test_the_limit_grows_with_what_is_asked(folder: Path) -> None:
    """More tokens or outputs never need less, nor does attention without its kernel."""
    made = graph("llama-3-8b", folder)
    assert made is not None
    contexts = [made.largest(Step(n)).nbytes for n in (512, 4096, 8192, 2**15, 2**17, 2**20)]
    assert contexts == sorted(contexts)
    steps = [made.largest(Step(8192, n_ubatch=n)).nbytes for n in (64, 128, 512, 2048)]
    assert steps == sorted(steps)
    assert made.largest(Step(8192, n_outputs=4)).nbytes < made.largest(Step(8192)).nbytes
    assert made.largest(Step(8192, flash=False)).nbytes > made.largest(Step(8192)).nbytes


def _decoder(kind: str, **numbers: object) -> dict[str, object]:
    return {"model_type": kind, "torch_dtype": "bfloat16", **numbers}


#: What these models' own configs say, by the name of their file in the record.
_CONFIGS = {
    "llama-3-8b": _decoder(
        "llama",
        architectures=["LlamaForCausalLM"],
        hidden_size=4096,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
        intermediate_size=14336,
        vocab_size=128256,
        max_position_embeddings=131072,
    ),
    "qwen3-30b-a3b": _decoder(
        "qwen3_moe",
        architectures=["Qwen3MoeForCausalLM"],
        hidden_size=2048,
        num_hidden_layers=48,
        num_attention_heads=32,
        num_key_value_heads=4,
        intermediate_size=6144,
        vocab_size=151936,
        head_dim=128,
        num_experts=128,
        num_experts_per_tok=8,
        moe_intermediate_size=768,
        max_position_embeddings=131072,
    ),
    "gpt-oss-20b": _decoder(
        "gpt_oss",
        architectures=["GptOssForCausalLM"],
        hidden_size=2880,
        num_hidden_layers=24,
        num_attention_heads=64,
        num_key_value_heads=8,
        intermediate_size=2880,
        vocab_size=201088,
        head_dim=64,
        num_local_experts=32,
        num_experts_per_tok=4,
        sliding_window=128,
        max_position_embeddings=131072,
    ),
    "llama-4-scout": _decoder(
        "llama4_text",
        architectures=["Llama4ForCausalLM"],
        hidden_size=5120,
        num_hidden_layers=48,
        num_attention_heads=40,
        num_key_value_heads=8,
        intermediate_size=8192,
        intermediate_size_mlp=16384,
        vocab_size=202048,
        head_dim=128,
        num_local_experts=16,
        num_experts_per_tok=1,
        interleave_moe_layer_step=1,
        attention_chunk_size=8192,
        max_position_embeddings=262144,
    ),
    "mamba-2.8b": _decoder(
        "mamba",
        architectures=["MambaForCausalLM"],
        hidden_size=2560,
        num_hidden_layers=64,
        vocab_size=50280,
        state_size=16,
        conv_kernel=4,
        intermediate_size=5120,
        time_step_rank=160,
    ),
}


@pytest.mark.parametrize("name", _CONFIGS)
@pytest.mark.parametrize(("context", "step"), [(8192, 512), (32768, 2048), (131072, 512)])
def test_a_config_gives_the_limit_of_its_file(name: str, context: int, step: int) -> None:
    one = next(one for one in recorded(FULL_SIZE) if one.name == name)
    text = f"{context},1,{step},0,0,f16,f16,1"
    real = one.settings[Setting.of(text)]
    assert isinstance(real, Reserved)
    memory = api.memory(_CONFIGS[name], engine="llama.cpp", context=context, step_tokens=step)
    assert memory.workspace is not None, memory.cache_unknown
    limit = memory.workspace.nbytes - memory.workspace.runtime
    assert real.compute <= limit <= _LIMIT * real.compute
