"""The cache of a GGUF file, from its header alone, next to what a real llama.cpp reserved."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.analysis.gguf.gguf_cache import (
    ARCHITECTURES,
    WITHOUT_MEMORY,
    CacheLayout,
    cache_layout,
)
from hfinspect.core.cache_size import AT_ONCE, ENCODES
from hfinspect.formats.gguf.gguf import FORMAT
from hfinspect.sizing.cache_request import CacheRequest
from hfinspect.sizing.engines.llama_cpp import LlamaCpp
from hfinspect.sizing.gguf_layers import layers_of_layout
from hfinspect.sizing.kv_cache import cache_size
from tests.formats.readers import MeteredReader
from tests.sizing.llama_cpp_record import Recorded, Reserved, Setting, recorded
from tests.some_rows import one_of

CACHES = Path(__file__).parents[2] / "fixtures" / "oracle" / "caches"
_NOT_RECORDED = {"gptj", "clip", "gemma4-assistant", "eagle3", "dflash"}


def asked(setting: Setting) -> tuple[LlamaCpp, CacheRequest]:
    """What ``hfinspect memory --engine llama.cpp`` makes of the same settings."""
    engine = LlamaCpp(step_tokens=setting.n_ubatch).with_settings(
        slots=setting.n_seq_max,
        split_cache=not setting.kv_unified,
        swa_full=setting.swa_full,
        flash_attention=setting.flash_attn,
    )
    assert isinstance(engine, LlamaCpp)
    tokens = setting.n_ctx if setting.kv_unified else -(-setting.n_ctx // setting.n_seq_max)
    dtype = engine.cache_dtype(f"{setting.type_k}/{setting.type_v}")
    return engine, CacheRequest(tokens, 1, dtype)


def refused(layout: CacheLayout, setting: Setting) -> bool:
    engine, request = asked(setting)
    rows = (item for layer in layers_of_layout(layout) for item in layer.keys_values)
    return any(engine.cache_refusal(item, request.dtype) for item in rows)


def nbytes_of(layout: CacheLayout, setting: Setting) -> int:
    engine, request = asked(setting)
    return cache_size(layers_of_layout(layout), engine, request).nbytes


def room_of(layout: CacheLayout, real: Reserved) -> int:
    """Each tensor of a state starts at a multiple of 32 bytes."""
    return 32 * 4 * len(layout.layers) if real.rs else 0


def read(one: Recorded) -> tuple[Mapping[str, Any], dict[str, Sequence[int]]]:
    """The header by way of a GGUF file made from the record."""
    shard = FORMAT.read_header(MeteredReader("model.gguf", one.gguf()))
    return shard.metadata, {tensor.name: tensor.shape for tensor in shard.tensors}


def test_the_record_covers_llama_cpp() -> None:
    architectures = {one.architecture for one in recorded()}
    assert len(architectures) >= 140
    missing = ARCHITECTURES - architectures
    assert missing <= _NOT_RECORDED | {"jina-bert-v2", "graniteswitch", "plm", "rwkv6qwen2"}
    assert all(len(one.settings) >= 5 for one in recorded())


@pytest.mark.parametrize("one", recorded(), ids=lambda one: one.name)
def test_the_bytes_are_those_that_were_reserved(one: Recorded) -> None:
    layout = cache_layout(*read(one))
    assert isinstance(layout, CacheLayout)
    for setting, real in one.settings.items():
        if isinstance(real, str):
            # llama.cpp turns flash attention off for Grok by itself, which no row of a cache shows.
            assert refused(layout, setting) or one.architecture == "grok", real
        else:
            assert not refused(layout, setting)
            rest = real.kv + real.rs - nbytes_of(layout, setting)
            assert 0 <= rest <= room_of(layout, real), setting


def test_encoders_keep_nothing() -> None:
    kept = [one for one in recorded() if one.architecture in WITHOUT_MEMORY]
    assert len(kept) >= 10
    for one in kept:
        layout = cache_layout(*read(one))
        assert isinstance(layout, CacheLayout)
        assert not any(layer.cache for layer in layout.layers)


def test_reasons_name_the_key() -> None:
    keys = {"general.architecture": "llama", "llama.block_count": 2}
    assert cache_layout(keys, {}) == "the key-values have no llama.embedding_length"
    assert "no architecture 'nosuch'" in str(cache_layout({"general.architecture": "nosuch"}, {}))
    assert cache_layout({}, {}) == "the key-values have no general.architecture"
    of = {"general.architecture": "eagle3"}
    assert "drafts for another model" in str(cache_layout(of, {}))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("block_count", 0),
        ("block_count", 513),
        ("block_count", 2**64 - 1),
        ("block_count", "32"),
        ("block_count", True),
        ("block_count", 3.0),
        ("embedding_length", -1),
        ("embedding_length", [4096]),
        ("attention.head_count", [8, 8, 8]),
        ("attention.head_count_kv", 2**32),
        ("attention.head_count_kv", {"array": "uint32", "length": 5000, "first": [1]}),
        ("attention.key_length", 2**31),
        ("attention.value_length", "128"),
        ("attention.head_count_kv", 1),
        ("nextn_predict_layers", 3),
    ],
)
def test_a_file_that_contradicts_itself_gives_a_reason(key: str, value: object) -> None:
    """llama.cpp refuses it, or would reserve another number than the tensors can use."""
    metadata, shapes = read(next(one for one in recorded() if one.name == "llama"))
    layout = cache_layout({**metadata, f"llama.{key}": value}, shapes)
    assert isinstance(layout, str), layout
    assert "llama." in layout or "blk." in layout


_HOSTILE: tuple[object, ...] = (
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    3,
    7,
    255,
    2**31,
    2**32 - 1,
    2**32,
    2**63,
    2**200,
    0.5,
    float("nan"),
    float("inf"),
    "",
    "4",
    "x" * 300,
    [],
    [0],
    [1, 2],
    [True, False],
    ["a"],
    [None],
    [2**40] * 2,
    [1] * 513,
    [[1]],
    {},
    {"array": "uint32", "length": 2**40, "first": [1, 2]},
)


@pytest.mark.parametrize("seed", range(4))
def test_hostile_key_values_give_a_layout_or_a_reason(seed: int) -> None:
    """Never an error of another kind, never a negative or absurd number."""
    dice = random.Random(seed)
    for one in recorded():
        keys = dict(one.keys)
        shapes = {name: shape for name, shape, _ in one.tensors}
        own = [key for key in keys if key.startswith(one.architecture + ".")]
        for key in dice.sample(own, k=min(len(own), dice.choice((1, 1, 2, 5, 40)))):
            if dice.random() < 0.2:
                del keys[key]
            else:
                keys[key] = dice.choice(_HOSTILE)
        layout = cache_layout(keys, shapes if dice.random() < 0.8 else {})
        if isinstance(layout, str):
            assert layout
            assert len(layout) < 400
            continue
        assert 0 < len(layout.layers) <= 512
        assert 0 <= nbytes_of(layout, _PLAIN) < 2**75


def of_each_architecture() -> list[Recorded]:
    """The first file of each."""
    return list({one.architecture: one for one in reversed(recorded())}.values())


#: A setting that ``memory`` can name: one sequence, steps of 512, flash attention.
_PLAIN = Setting(4096, 1, 512, False, False, "f16", "f16", True)


@pytest.mark.parametrize("one", of_each_architecture(), ids=lambda one: one.architecture)
def test_a_bare_file_gets_cache_plan_and_verdict(one: Recorded, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(one.gguf())
    memory = hfinspect.memory(str(path), engine="llama.cpp", context=4096, on="24GB")
    real = one.settings[_PLAIN]
    assert isinstance(real, Reserved)
    assert memory.model_type == one.architecture
    if one.architecture in WITHOUT_MEMORY:
        assert (real.kv, real.rs) == (0, 0)
        assert memory.cache_unknown in (ENCODES, AT_ONCE)
        return
    assert memory.cache is not None, memory.cache_unknown
    assert memory.cache.nbytes <= real.kv + real.rs <= memory.cache.nbytes + 32 * 4 * 24
    assert memory.verdict is not None
    assert memory.verdict.answer == "fits"


def configs() -> list[tuple[str, dict[str, Any], Reserved]]:
    """The configs of which the converter made recorded files."""
    cases = []
    for one in recorded():
        family, plus, case = one.name.partition("+")
        path = CACHES / f"{family}.json"
        real = one.settings.get(_PLAIN)
        if not plus or not path.exists() or not isinstance(real, Reserved):
            continue
        row = json.loads(path.read_text()).get(case)
        if row is not None:
            named = {"model_type": row["model_type"], "architectures": [row["architecture"]]}
            cases.append((one.name, {**row["given"], **named}, real))
    return cases


#: Configs of which the converter leaves out which layers have the window: ours is then more.
_MORE = frozenset({"laguna+laguna-default"})


@pytest.mark.parametrize("case", one_of(3, configs()), ids=lambda case: case[0])
def test_a_config_is_sized_as_its_converted_file(
    case: tuple[str, dict[str, Any], Reserved],
) -> None:
    name, config, real = case
    cache = hfinspect.memory(config, engine="llama.cpp", context=4096).cache
    assert cache is not None
    total = real.kv + real.rs
    if name in _MORE:
        assert cache.nbytes > total
    else:
        assert cache.nbytes <= total <= cache.nbytes + 32 * 4 * 8


def test_t5_keeps_nothing_of_the_encoders_tokens() -> None:
    """T5-small: 6 layers of 8 heads of 64, and no second cache."""
    config = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}
    cache = hfinspect.memory(config, engine="llama.cpp", context=4096).cache
    assert cache is not None
    assert cache.nbytes == 6 * 2 * 8 * 64 * 2 * 4096


_MIMO = {
    "model_type": "mimo_v2_flash",
    "architectures": ["MiMoV2FlashForCausalLM"],
    "num_hidden_layers": 7,
    "sliding_window_size": 128,
    "sliding_window": 128,
}


def test_the_window_is_the_one_that_the_converter_writes() -> None:
    """MiMo-V2-Flash: its class looks back over 128 tokens and the query's own, conversion/mimo.py
    writes ``sliding_window`` as it stands."""
    kept = hfinspect.memory(_MIMO, engine="llama.cpp", context=32768).cache
    assert kept is not None
    assert {group.window for group in kept.layers} == {None, 128}
    assert {group.rows for group in kept.layers} == {32768, 768}
    own = hfinspect.memory(_MIMO, engine="transformers", context=32768).cache
    assert own is not None
    assert {group.rows for group in own.layers} == {32768, 128}


def test_a_converter_that_lacks_its_key_gives_no_file() -> None:
    without = {key: value for key, value in _MIMO.items() if key != "sliding_window"}
    memory = hfinspect.memory(without, engine="llama.cpp", context=32768)
    assert memory.cache is None
    assert "converter reads sliding_window" in memory.cache_unknown
