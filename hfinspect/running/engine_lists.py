"""What engines load, as their own sources list it: ``engine_lists.json``, and the classes that
``sizing/engine_classes.py`` has already.

``python -m tests.oracle record engine-lists`` records it; nothing of an engine is imported for it.
"""

from functools import cache
from typing import Any

from ..core import data_files
from ..sizing.engine_classes import class_lists


@cache
def engine_lists() -> dict[str, Any]:
    """The lists of each engine by its name: ``version``, the day it was ``read``, and what it says.

    vLLM: ``maps``, ``methods`` (method -> least compute capability, 89 for 8.9), ``kernels``;
    SGLang: ``methods``; MLX-LM: ``types``, ``methods``; transformers: ``versions``, ``types``
    (first and last release -> types), ``methods``, ``gguf``; optimum-onnx: ``types`` (with tasks);
    TensorRT-LLM: ``classes``.
    """
    return data_files.read(__package__, "engine_lists.json")


def classes_of(engine: str) -> dict[str, Any]:
    """The classes of vLLM, SGLang or llama.cpp."""
    lists: dict[str, Any] = class_lists()[engine]
    return lists


@cache
def transformers_types() -> dict[str, tuple[str, str]]:
    """Type -> the first and the last of the recorded releases of transformers that know it."""
    lists = engine_lists()["transformers"]
    spans = {}
    for span, types in lists["types"].items():
        low, _, high = span.partition("-")
        ends = (lists["versions"][int(low)], lists["versions"][int(high)])
        spans.update(dict.fromkeys(types, ends))
    return spans


def gguf_types() -> list[str]:
    """Architectures of GGUF files of which transformers makes a class."""
    types: list[str] = engine_lists()["transformers"]["gguf"]
    return types
