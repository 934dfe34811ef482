"""The judgement of one checkpoint: every kind of evidence is asked once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.wholeness import Problem, by_weight, is_whole
from .evidence import Evidence
from .files_there import missing_files


def judged(evidence: Evidence) -> dict[str, Any]:
    """The fields of an inspection that say whether a checkpoint is whole."""
    problems = by_weight(_problems(evidence))
    known = evidence.expectation is not None or bool(evidence.checkpoint.missing)
    known = known or evidence.base_config is not None
    return {"whole": is_whole(problems, known=known), "problems": problems}


def judged_config(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """The same of a config without weights: nothing says which files should be there."""
    problems = by_weight(_config_problems(config))
    return {"whole": is_whole(problems, known=False), "problems": problems}


def _problems(evidence: Evidence) -> Iterator[Problem]:
    yield from missing_files(evidence)
    if evidence.renamed is not None:
        from .names_known import other_names

        yield from other_names(evidence, evidence.renamed)
    settings = evidence.companions.get("adapter_config.json")
    if evidence.layout == "adapter" and settings is not None:
        from .adapter_fits import adapter_problems, base_of

        base = base_of(evidence.base_config, settings)
        tensors = {tensor.name: tensor.shape for tensor in evidence.tensors}
        yield from adapter_problems(tensors, settings, base)


def _config_problems(config: Mapping[str, Any] | None) -> Iterator[Problem]:
    if config is None:
        return
    yield from ()
