"""What layers keep, against the caches that transformers filled (tests/oracle/record_caches.py)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.config import ModelConfig
from hfinspect.sizing.cache_request import CachedLayer, CacheRequest
from hfinspect.sizing.engines.registry import ENGINES
from hfinspect.sizing.kv_cache import cache_size, cached_layers, unknown_layouts
from hfinspect.trees.catalog import traced_family
from hfinspect.trees.prediction import predict

from ..oracle_folder import ORACLE

FOLDER = ORACLE / "caches"
FAMILIES = sorted(FOLDER.glob("*.json"))
BYTES = {"bfloat16": 2, "float16": 2, "float32": 4, "int64": 8}
DTYPES = {"bfloat16": "BF16", "float32": "F32"}

#: Recordings that no rule should follow, with the reason.
ODD = {
    "qwen2-thirty-two-key-heads": "heads one wide, which the rotation makes two of the keys",
    "trocr-sines": "the sinusoidal positions make the cache float32 where the model is not",
    "minimax_m3_vl": "a StaticCache writes down each indexer's length",
    "xlstm-tied": "the cache has num_hidden_layers states, the model num_blocks layers",
    "qwen4_exp": "a StaticCache keeps no positions of the indexer",
}
#: Families with a recording whose cache is refused; traced ones are refused where they say so.
REFUSED = {"xlnet", "musicgen_melody", "blt"}
#: Of the encoder: what it makes of sound is shorter than the sound, and not said in the recording.
SHORTENED = ("whisper", "moonshine", "speech_to_text", "speecht5")


def recorded(rows: list[list[Any]]) -> Counter[str]:
    """Bytes of keys and values, of cross-attention, and of states."""
    counts: Counter[str] = Counter()
    for _, cls, name, shape, dtype in rows:
        kind = "states"
        if cls.startswith("DeepseekV4"):
            if name == "values":
                continue  # the same storage as the keys
            kind = "kv"
        elif name.startswith(("keys", "values", "indexer_", "idx_")):
            kind = "kv"
        elif name.startswith("cross_"):
            kind = "cross"
        elif cls == "list" or "state" in name or "linear" in name:
            kind = "states"
        counts[kind] += math.prod(shape) * BYTES[dtype]
    return +counts


def compared(
    record: dict[str, Any], layers: tuple[CachedLayer, ...], family: str = ""
) -> Iterator[tuple[str, tuple[dict[str, int], dict[str, int]]]]:
    """What differs in a recording of these layers: its title, our bytes and the library's."""
    for title in ("3", "12", "static 16"):
        if title not in record:
            continue
        want = recorded(record[title])
        rules = ENGINES["transformers-static" if "static" in title else "transformers"]
        if unknown_layouts(layers, rules):
            continue
        tokens = int(title.split()[-1])
        dtype = DTYPES[record["dtype"]]
        size = cache_size(layers, rules, CacheRequest(tokens, 1, dtype, encoder_tokens=5))
        got = Counter(kv=size.kv_bytes, states=size.state_bytes)
        got["kv"] -= (cross := sum(g.nbytes for g in size.layers if g.rows and not g.grows))
        got["cross"] = cross
        if family.startswith(SHORTENED):
            del got["cross"], want["cross"]
        if +got != want:
            yield title, (dict(+got), dict(want))


@pytest.mark.parametrize("path", FAMILIES, ids=lambda path: path.stem)
def test_a_cache_is_what_transformers_holds(path: Path) -> None:
    """To the byte, after fewer and after more tokens than a window, and in a StaticCache; what is
    refused is refused for a reason, not for a family that was forgotten."""
    layers = layers_in(path)
    assert unlike(path, layers) == {}
    if not path.stem.startswith("traced-"):
        assert any(map(unknown_layouts, layers.values())) == (path.stem in REFUSED)


def records_in(path: Path) -> dict[str, dict[str, Any]]:
    """Without those of which the library's forward gave no cache."""
    records = json.loads(path.read_text()).items()
    return {label: record for label, record in records if "not recorded" not in record}


def layers_in(path: Path) -> dict[str, tuple[CachedLayer, ...]]:
    return {label: layers_of(record) for label, record in records_in(path).items()}


def unlike(
    path: Path, layers_by_label: Mapping[str, tuple[CachedLayer, ...]]
) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
    """What the catalog says otherwise than a file of recordings: our bytes and the library's."""
    differing = {}
    for label, record in records_in(path).items():
        layers = layers_by_label[label]
        if ODD.keys() & {label, path.stem} or unknown_layouts(layers):
            continue
        for title, (got, want) in compared(record, layers, path.stem.removeprefix("traced-")):
            differing[f"{label} {title}"] = (got, want)
    return differing


def layers_of(record: dict[str, Any]) -> tuple[CachedLayer, ...]:
    """What the catalog says of a recording's config."""
    names = {"model_type": record["model_type"], "architectures": [record["architecture"]]}
    return cached_layers(predict({**record["given"], **names}).root)


def test_most_are_recorded() -> None:
    assert sum(len(records_in(path)) for path in FAMILIES) > 900
    assert {path.stem for path in FAMILIES} >= REFUSED


def test_a_trace_whose_cache_was_not_recorded_refuses() -> None:
    """What the kinds of its projections say is no answer until a recording shows it."""
    path = Path(predict.__code__.co_filename).parents[1] / "architectures" / "traced"
    trace = json.loads((path / "pop2piano.json").read_text())
    name = "Pop2PianoForConditionalGeneration"
    config = ModelConfig({"model_type": "pop2piano"})
    assert not unknown_layouts(cached_layers(traced_family(trace).classes[name](config)))
    del trace["classes"][name]["cache"]
    unknown = unknown_layouts(cached_layers(traced_family(trace).classes[name](config)))
    assert unknown == ("what its layers keep is not recorded",)


def test_a_model_that_fills_no_static_cache_refuses_it() -> None:
    config = {"model_type": "evolla", "architectures": ["EvollaForProteinText2Text"]}
    assert hfinspect.memory(config, engine="transformers", context=16).cache is not None
    memory = hfinspect.memory(config, engine="transformers-static", context=16)
    assert "a cache of its own" in memory.cache_unknown
