"""What vLLM's own planner reserves for a sequence: ``fixtures/oracle/vllm_pages.json``.

Needs vLLM's Python and torch; what else vLLM imports and is not installed is replaced by empty
modules, as the planner computes with numbers only::

    PYTHONPATH=SOURCE_OF_VLLM python -m tests.sizing.record_vllm_pages
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

RECORD = Path(__file__).parents[2] / "fixtures" / "oracle" / "vllm_pages.json"
#: Layers, window, key/value heads, sizes of a head's keys and values; no heads: latents.
Kind = tuple[int, int | None, int, int, int]
#: What a model has of each kind; the value's size is the key's where it is left out.
MODELS: dict[str, list[tuple[int, ...] | tuple[int | None, ...]]] = {
    "llama-3-8b": [(32, None, 8, 128)],
    "mistral-7b-v0.1": [(32, 4096, 8, 128)],
    "gemma-2-9b": [(21, 4096, 8, 256), (21, None, 8, 256)],
    "gemma-3-1b": [(22, 512, 1, 256), (4, None, 1, 256)],
    "gemma-3-4b": [(29, 1024, 4, 256), (5, None, 4, 256)],
    "gemma-3-12b": [(40, 1024, 8, 256), (8, None, 8, 256)],
    "gemma-3-27b": [(52, 1024, 16, 128), (10, None, 16, 128)],
    "gpt-oss-20b": [(12, 128, 8, 64), (12, None, 8, 64)],
    "gpt-oss-120b": [(18, 128, 8, 64), (18, None, 8, 64)],
    "12 windowed, 13 full": [(12, 128, 8, 64), (13, None, 8, 64)],
    "olmo-3-7b": [(24, 4096, 32, 128), (8, None, 32, 128)],
    "cohere2-7b": [(24, 4096, 8, 128), (8, None, 8, 128)],
    "three kinds": [(7, 128, 4, 64), (5, 1024, 4, 64), (3, None, 4, 64)],
    "gemma-4-31b": [(50, 1024, 16, 256), (10, None, 4, 512)],
    "gemma-4-26b-a4b": [(25, 1024, 8, 256), (5, None, 2, 512)],
    "gemma-4-e2b": [(12, 512, 1, 256), (3, None, 1, 512)],
    "gemma-4-e4b": [(20, 512, 2, 256), (4, None, 2, 512)],
    "gemma-4-31b of 8 cards": [(50, 1024, 2, 256), (10, None, 1, 512)],
    "mimo-v2-flash": [(39, 129, 8, 192, 128), (9, None, 4, 192, 128)],
    "mimo-v2-flash of 8 cards": [(39, 129, 1, 192, 128), (9, None, 1, 192, 128)],
    "narrow full layers": [(30, 512, 8, 128), (6, None, 8, 64)],
    "sizes that do not divide": [(15, 512, 3, 128), (5, None, 2, 256)],
    "three sizes": [(8, 128, 2, 64), (8, 1024, 4, 64), (4, None, 3, 128)],
    "sizes alike within a window": [(6, None, 8, 128), (6, None, 2, 64)],
    "sizes within a window and without": [(6, 512, 8, 128), (6, 512, 2, 64), (4, None, 4, 128)],
    "latents next to windows": [(12, 512, 4, 128), (12, None, 0, 512, 64)],
    "latents that divide": [(12, 512, 4, 144), (12, None, 0, 512, 64)],
}
#: (tokens of a sequence, tokens of a step, steps in flight)
SETTINGS = [(100, 2048, 2), (4096, 2048, 2), (32768, 8192, 2), (131072, 8192, 2), (32768, 2048, 3)]


class _Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Empty modules for what is not installed."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.partition(".")[0] not in self.names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        module = MagicMock(name=spec.name)
        module.__spec__ = spec
        module.__path__ = []
        module.__name__ = spec.name
        return module

    def exec_module(self, module: ModuleType) -> None:
        return None


def reserved(kinds: list[Kind], at: tuple[int, int, int]) -> int:
    """Bytes that vLLM reserves for one sequence."""
    import torch
    from vllm.v1.core import kv_cache_planning as planning
    from vllm.v1.kv_cache_interface import (
        FullAttentionSpec,
        MLAAttentionSpec,
        SlidingWindowSpec,
        UniformTypeKVCacheSpecs,
    )

    tokens, step, steps = at
    specs = {}
    for kind, (layers, window, heads, key, value) in enumerate(kinds):
        given = {"block_size": 16, "num_kv_heads": heads, "dtype": torch.bfloat16}
        sizes = {"head_size": key, "head_size_v": value}
        for layer in range(layers):
            name = f"model.layers.{kind}.{layer}"
            if not heads:
                one = {"num_kv_heads": 1, "head_size": key + value, "head_size_v": 0}
                specs[name] = MLAAttentionSpec(**given | one)
            elif window is None:
                specs[name] = FullAttentionSpec(**given, **sizes)
            else:
                specs[name] = SlidingWindowSpec(**given, **sizes, sliding_window=window)
    config = SimpleNamespace(
        scheduler_config=SimpleNamespace(
            disable_hybrid_kv_cache_manager=False, max_num_batched_tokens=step
        ),
        model_config=SimpleNamespace(max_model_len=tokens),
        parallel_config=SimpleNamespace(decode_context_parallel_size=1),
        attention_config=SimpleNamespace(hisparse_config=None),
        cache_config=SimpleNamespace(
            get_resolved_kv_cache_layout=lambda: SimpleNamespace(is_block_outermost=False)
        ),
        speculative_config=None,
        max_in_flight_tokens=steps * step,
    )
    groups = planning.get_kv_cache_groups(config, specs)
    specs_of = [group.kv_cache_spec for group in groups]
    # A pool's block is one block of each layer of the longest group.
    block = max(
        one.page_size_bytes * (1 if isinstance(one, UniformTypeKVCacheSpecs) else len(names))
        for one, names in zip(specs_of, [group.layer_names for group in groups], strict=True)
    )
    blocks = [-(-one.max_memory_usage_bytes(config) // one.page_size_bytes) for one in specs_of]
    return int(sum(blocks) * block)


def _import_planner(names: list[str]) -> None:
    """With an empty module for each of ``names``. Begins again where one more is missing: what
    vLLM registers with torch cannot be registered twice."""
    sys.meta_path.append(_Missing(names))
    try:
        importlib.import_module("vllm.v1.core.kv_cache_planning")
    except ModuleNotFoundError as error:
        more = [*names, str(error.name).partition(".")[0]]
        if len(more) > 100:
            raise
        os.execv(sys.executable, [sys.executable, "-m", "tests.sizing.record_vllm_pages", *more])


def main() -> None:
    _import_planner(sys.argv[1:])
    from vllm.version import __version__

    rows = [
        {"model": name, "kinds": kinds, "at": at, "nbytes": reserved(kinds, at)}
        for name, short in MODELS.items()
        for kinds in [[(*kind, kind[3])[:5] for kind in short]]
        for at in SETTINGS
    ]
    RECORD.write_text(json.dumps({"vllm": __version__, "rows": rows}, indent=None) + "\n")
    print(f"{len(rows)} rows of vLLM {__version__}")


if __name__ == "__main__":
    main()
