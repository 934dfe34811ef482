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
#: (layers, window, key/value heads, head size) of each kind, in a model's proportions.
MODELS: dict[str, list[tuple[int, int | None, int, int]]] = {
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
        module.__spec__, module.__path__, module.__name__ = spec, [], spec.name
        return module

    def exec_module(self, module: ModuleType) -> None:
        return None


def reserved(kinds: list[tuple[int, int | None, int, int]], at: tuple[int, int, int]) -> int:
    """Bytes that vLLM reserves for one sequence."""
    import torch
    from vllm.v1.core import kv_cache_planning as planning
    from vllm.v1.kv_cache_interface import FullAttentionSpec, SlidingWindowSpec

    tokens, step, steps = at
    specs = {}
    for kind, (layers, window, heads, size) in enumerate(kinds):
        given = {
            "block_size": 16,
            "num_kv_heads": heads,
            "head_size": size,
            "dtype": torch.bfloat16,
        }
        for layer in range(layers):
            name = f"model.layers.{kind}.{layer}"
            specs[name] = (
                FullAttentionSpec(**given)
                if window is None
                else SlidingWindowSpec(**given, sliding_window=window)
            )
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
    # A pool's block is one block of each layer of the longest group.
    block = max(len(group.layer_names) * group.kv_cache_spec.page_size_bytes for group in groups)
    specs_of = [group.kv_cache_spec for group in groups]
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
        for name, kinds in MODELS.items()
        for at in SETTINGS
    ]
    RECORD.write_text(json.dumps({"vllm": __version__, "rows": rows}, indent=None) + "\n")
    print(f"{len(rows)} rows of vLLM {__version__}")


if __name__ == "__main__":
    main()
