"""The options of ``runs``: its own, and those that it has in common with ``memory``."""

from __future__ import annotations

from collections.abc import Sequence

from .choices import LOADERS
from .memory_options import MemoryOptions
from .option_field import option, same_option
from .records import dataclass


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
    on: str | None = same_option(
        MemoryOptions, "on", "Print lines for one or more cards: 4090, 24GB, 2x80GB, 8xH100."
    )
    context: int | str | None = same_option(
        MemoryOptions,
        "context",
        "Context length of the lines: 4096, 32k or 1M. Default: the longest that fits.",
    )
    batch: int = same_option(MemoryOptions, "batch")
    tensor_parallel: int = same_option(MemoryOptions, "tensor_parallel")
    pipeline_parallel: int = same_option(MemoryOptions, "pipeline_parallel")
    train: str | None = same_option(
        MemoryOptions,
        "train",
        "Add lines for training with FSDP and DeepSpeed: full, lora or qlora.",
    )
    rank: int = same_option(MemoryOptions, "rank")
    seq: int | str | None = same_option(MemoryOptions, "seq")
    optimizer: str = same_option(MemoryOptions, "optimizer")
    precision: str = same_option(MemoryOptions, "precision")
    gpus: int = same_option(MemoryOptions, "gpus")
    checkpointing: bool = same_option(MemoryOptions, "checkpointing")
