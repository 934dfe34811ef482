"""Which classes an engine can run: lists of the engines themselves, in ``engine_classes.json``.

vLLM and SGLang run a class that they do not have by transformers' own code where its attention can
be replaced; they put their own cache of keys and values under it, and nothing else (vLLM,
models/transformers/base.py; SGLang, models/transformers.py). llama.cpp runs what its converter
takes. ``python -m tests.oracle record engine-classes`` reads the lists.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from ..core import data_files
from ..trees.cache_layout import KeysValues
from .cache_request import CachedLayer
from .engines.interface import Engine
from .engines.registry import OF_GGUF
from .own_cache import GENERATES


class Runs(NamedTuple):
    """``refused`` says why an engine does not run a class, empty where it may; ``note`` how it
    runs one that it does not have itself."""

    refused: str = ""
    note: str = ""


@cache
def class_lists() -> dict[str, Any]:
    """The lists by engine: its ``version``, its ``classes``, those that it ``dropped``."""
    return data_files.read(__package__, "engine_classes.json")


def runs(engine: Engine, architecture: str, layers: Sequence[CachedLayer]) -> Runs:
    """Whether an engine runs a class whose layers keep this. A bare base class says nothing of
    what is run."""
    base = architecture.endswith("Model") and not architecture.endswith(GENERATES)
    if engine.support is None or base:
        return Runs()
    lists = class_lists()
    classes = lists[engine.support.key]
    if architecture in classes["classes"] or made_of(engine.support.key, architecture):
        return Runs()
    name = f"{engine.support.label} {classes['version']}"
    lacks = f"{name} has no class {architecture}"
    if architecture in classes["dropped"]:
        lacks += f"; {classes['dropped'][architecture]} was the last version that had it"
    if not engine.support.through_transformers:
        return Runs(f"{lacks}: its converter does not take it")
    if architecture not in lists["through"]["classes"]:
        return Runs(lacks)
    if not all(map(_is_plain, layers)):
        return Runs(
            f"{lacks}; by transformers' code it keeps plain keys and values only, and this model "
            "keeps something else"
        )
    return Runs(note=f"{lacks} of its own; it runs transformers' code where that allows it")


def made_of(key: str, architecture: str) -> str | None:
    """The listed class that an engine makes a pooling model of (embeddings, classes) where it does
    not list the class itself; None where there is none."""
    classes = class_lists()[key]
    ends: dict[str, str] = classes.get("suffixes", {})
    suffix = next((end for end in ends if architecture.endswith(end)), "")
    if ends.get(suffix) != "pooling":
        return None
    stem = architecture.removesuffix(suffix)
    return next((stem + end for end in ends if stem + end in classes["classes"]), None)


def converted_to(architecture: str | None) -> str | None:
    """The architecture of llama.cpp that its converter makes of a class, or of the class that
    generates with this base; None where it takes neither."""
    converted: dict[str, str] = class_lists()[OF_GGUF]["converts"]
    name = architecture or ""
    return converted.get(name) or converted.get(f"{name.removesuffix('Model')}ForCausalLM")


def _is_plain(layer: CachedLayer) -> bool:
    return all(
        isinstance(item, KeysValues)
        and not (item.latent or item.cross or item.name or item.before)
        and item.every == 1
        for item in layer.cache
    )
