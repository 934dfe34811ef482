"""Each class that generates has a recording of its cache, or its cache is refused by name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import hfinspect
from hfinspect.core.cache_size import AT_ONCE
from hfinspect.core.config import ModelConfig
from hfinspect.sizing.cache_request import CachedLayer
from hfinspect.sizing.engines.registry import ENGINES
from hfinspect.sizing.kv_cache import cached_layers, unknown_layouts
from hfinspect.sizing.own_cache import GENERATES
from hfinspect.trees.catalog import Family, find_type, index
from hfinspect.trees.prediction import predict

from ..oracle.record import entries
from ..oracle_folder import ORACLE

GENERATING: list[str] = json.loads((ORACLE / "generating.json").read_text())
#: Classes without a recording, and the recorded class that keeps the same, with the reason.
AS = {
    # The whole needs timm and torchvision; its language model is the one that is recorded.
    "Gemma3nForConditionalGeneration": ("gemma3n_text", "Gemma3nForCausalLM"),
}
#: They read the keys and values of the model that they write ahead for.
KEEP_NONE = ("Gemma4AssistantForCausalLM", "Gemma4UnifiedAssistantForCausalLM")


def small(name: str) -> dict[str, Any]:
    """The small config of the class's case file, empty where it has none."""
    path = ORACLE / "cases" / f"{index().classes[name][0]}.json"
    listed = entries(path) if path.exists() else []
    kinds = {entry["model_type"]: entry.get("tiny", {}) for entry in listed}
    return {**kinds.get(type_of(name), {}), "model_type": type_of(name)}


@cache
def recordings() -> list[dict[str, Any]]:
    files = (ORACLE / "caches").glob("*.json")
    rows = [row for path in files for row in json.loads(path.read_text()).values()]
    return [row for row in rows if "not recorded" not in row]


@cache
def recorded() -> set[str]:
    return {row["architecture"] for row in recordings()}


def type_of(name: str) -> str:
    file, kind = index().classes[name]
    return kind or next(kind for kind, where in index().types.items() if where == file)


def layers_of(model_type: str, name: str) -> tuple[CachedLayer, ...]:
    return cached_layers(predict({"model_type": model_type, "architectures": [name]}).root)


def is_recorded(name: str) -> bool:
    """Whether the class is, or another name of the same."""
    family = find_type(type_of(name))
    others = recorded() & family.classes.keys() if family else ()
    return name in recorded() or any(
        family is not None and family.classes[name] is family.classes[other] for other in others
    )


def old_names() -> Iterator[tuple[str, Family]]:
    """Names of classes that the library had once, or that only configs on the Hub have."""
    for name in index().classes:
        if name.endswith(GENERATES) and name not in GENERATING and not is_recorded(name):
            family = find_type(type_of(name))
            if family is not None and family.source == "transformers":
                yield name, family


def test_every_class_that_generates_is_recorded_or_refused() -> None:
    answered = []
    for name in (name for name in GENERATING if not is_recorded(name) and name not in AS):
        config = {**small(name), "architectures": [name], "is_decoder": True}
        for engine in ("transformers", "transformers-static"):
            memory = hfinspect.memory(config, engine=engine, context=16)
            empty = name in KEEP_NONE and memory.cache is not None and not memory.cache.nbytes
            if memory.cache_unknown == AT_ONCE and not name.endswith("ForCTC"):
                answered.append((name, "is not said to write token after token"))
            if memory.cache_unknown == "" and not empty:
                answered.append((name, engine))
    assert answered == []


@pytest.mark.parametrize("name", AS)
def test_what_stands_for_a_class_keeps_the_same(name: str) -> None:
    model_type, other = AS[name]
    assert other in recorded()
    assert layers_of(type_of(name), name) == layers_of(model_type, other)


def test_old_names_keep_what_a_recorded_class_keeps() -> None:
    differing = []
    for name, family in old_names():
        model_type = type_of(name)
        built = cached_layers(family.classes[name](ModelConfig({"model_type": model_type})))
        config = {"model_type": model_type, "architectures": [name]}
        refused = hfinspect.memory(config, engine="transformers", context=16).cache_unknown
        if not refused and not any(
            built == layers_of(model_type, other) for other in family.classes if other in recorded()
        ):
            differing.append(name)
    assert differing == []


def test_a_model_that_fills_no_static_cache_is_refused_there() -> None:
    """Where the library's forward failed with a StaticCache, so does our answer."""
    answered = []
    for row in (row for row in recordings() if "not static" in row):
        names = {"model_type": row["model_type"], "architectures": [row["architecture"]]}
        layers = cached_layers(predict({**row["given"], **names}).root)
        unknown = unknown_layouts(layers, ENGINES["transformers-static"])
        if any(layer.cache for layer in layers) and not unknown:
            answered.append((row["architecture"], row["not static"]))
    assert answered == []
