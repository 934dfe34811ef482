"""The options of ``runs``: its own, and those that it has in common with ``memory``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .choices import LOADERS
from .memory_options import MemoryOptions
from .option_field import option, option_of, options_of
from .records import dataclass


def _as_in_memory(name: str, help: str = "") -> Any:  # noqa: A002 - its name in every parser
    """The field of ``memory``: default, flag and, without a ``help`` of its own, its help."""
    one, shown = options_of(MemoryOptions)[name]
    return option_of(one.default, shown._replace(help=help or shown.help))


@dataclass(frozen=True, kw_only=True)
class RunsOptions:
    """Which engines are asked, and what their lines are for."""

    engine: str | Sequence[str] | None = option(
        None,
        f"Engines, separated by commas: {', '.join(LOADERS)}. Default: all.",
        metavar="NAMES",
        choices=LOADERS,
        other_names="engines",
    )
    on: str | None = _as_in_memory(
        "on", "Print lines for one or more cards: 4090, 24GB, 2x80GB, 8xH100."
    )
    context: int | str | None = _as_in_memory(
        "context", "Context length of the lines: 4096, 32k or 1M. Default: the longest that fits."
    )
    batch: int = _as_in_memory("batch")
    tensor_parallel: int = _as_in_memory("tensor_parallel")
    pipeline_parallel: int = _as_in_memory("pipeline_parallel")
    train: str | None = _as_in_memory(
        "train", "Add lines for training with FSDP and DeepSpeed: full, lora or qlora."
    )
    rank: int = _as_in_memory("rank")
    seq: int | str | None = _as_in_memory("seq")
    optimizer: str = _as_in_memory("optimizer")
    precision: str = _as_in_memory("precision")
    gpus: int = _as_in_memory("gpus")
    checkpointing: bool = _as_in_memory("checkpointing")
