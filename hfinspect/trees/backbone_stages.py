"""Which of its stages a backbone hands on to a head."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.config import ModelConfig

#: Each stage halves the image, so that 32 would need one of 2^32 pixels.
MAX_STAGES = 32


def chosen_stages(c: ModelConfig, names: Sequence[str]) -> list[int]:
    """Which of the stages a backbone hands on: ``out_features`` by name, else ``out_indices``,
    else the last. Other names of stages than these move what both mean, so that they are refused.
    Source: transformers/backbone_utils.py."""
    if c.has("stage_names") and (stages := c.strings("stage_names")) != tuple(names):
        raise c.unknown("stage_names", list(stages), f"{', '.join(names)}")
    if c.has("out_features"):
        features = c.strings("out_features")
        for name in features:
            if name not in names:
                raise c.error("out_features", name, f"one of {', '.join(names)}")
        return [names.index(name) for name in features]
    indices = c.raw("out_indices")
    if indices is None:
        return [len(names) - 1]
    if not isinstance(indices, (list, tuple)):
        raise c.error("out_indices", indices, "a list of indices")
    for i in indices:
        if isinstance(i, bool) or not isinstance(i, int) or not -len(names) <= i < len(names):
            raise c.error("out_indices", i, f"an index of {len(names)} stages")
    return [i % len(names) for i in indices]


def stage_names(stages: int) -> list[str]:
    """What a backbone calls its stem and its stages."""
    return ["stem", *(f"stage{i}" for i in range(1, stages + 1))]
