"""Arguments that people know by other names: a call that uses one is answered with ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Of ``memory``: our name, and those of other tools and of the command line.
OF_MEMORY: Final[Mapping[str, str]] = {
    "on": "gpu device vram card gpu_memory max_memory",
    "context": "ctx ctx_size n_ctx context_length context_size max_model_len max_length",
    "width": "dtype quant quantize quantization bits recipe",
    "cache_dtype": "kv_dtype kv_cache_dtype cache_type_k cache_type_v",
    "batch": "bs batch_size max_num_seqs",
    "slots": "parallel n_parallel n_seq_max",
    "flash_attention": "flash_attn",
    "tensor_parallel": "tp tensor_parallel_size",
    "pipeline_parallel": "pp pipeline_parallel_size",
    "expert_parallel": "ep enable_expert_parallel",
}


def suggesting(names: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function whose TypeError for an argument that it does not have names the one that is meant.

    ``names``: argument -> other words for it.
    """

    def made(function: Callable[P, R]) -> Callable[P, R]:
        taken = signature(function).parameters
        meant = {word: name for name, words in names.items() for word in words.split()}

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in taken and name in meant:
                    raise TypeError(
                        f"{function.__name__}() got an unexpected keyword argument {name!r}: did "
                        f"you mean {meant[name]!r}?"
                    )
            return function(*args, **kwargs)

        return called

    return made
