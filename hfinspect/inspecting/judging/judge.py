"""The judgement of one checkpoint: every kind of evidence is asked once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.wholeness import Problem, by_weight, is_whole
from .evidence import Evidence


def judged(evidence: Evidence) -> dict[str, Any]:
    """The fields of an inspection that say whether a checkpoint is whole."""
    problems = by_weight(_problems(evidence))
    known = evidence.expectation is not None or bool(evidence.checkpoint.missing)
    return {"whole": is_whole(problems, known=known), "problems": problems}


def judged_config(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """The same of a config without weights: nothing says which files should be there."""
    problems = by_weight(_config_problems(config))
    return {"whole": is_whole(problems, known=False), "problems": problems}


def _problems(evidence: Evidence) -> Iterator[Problem]:
    if evidence.checkpoint.missing:
        from .files_there import missing_files

        yield from missing_files(evidence)
    expectation = evidence.expectation
    is_gguf = evidence.checkpoint.format == "gguf"  # which has names of its own
    if expectation is not None and not expectation.agrees and not is_gguf:
        from .tensors_there import missing_tensors, other_shapes

        yield from missing_tensors(evidence)
        yield from other_shapes(evidence)
    if declares_prediction_layers(evidence.config) and not is_gguf:
        from .prediction_layers import missing_prediction_layers

        yield from missing_prediction_layers(evidence)
    if not is_gguf:
        yield from _config_problems(evidence.config, evidence.where)


def declares_prediction_layers(config: Mapping[str, Any] | None) -> bool:
    """Whether a config may declare layers of multi-token prediction."""
    values = config or {}
    sections = [one for one in values.values() if isinstance(one, Mapping)]
    keys = {key for one in (values, *sections) for key in one if isinstance(key, str)}
    return any("nextn" in key or "mtp" in key for key in keys)


def _config_problems(
    config: Mapping[str, Any] | None, where: str = "config.json"
) -> Iterator[Problem]:
    if config and "model_type" in config:
        from .config_values import refused_values

        yield from refused_values(config, where)
