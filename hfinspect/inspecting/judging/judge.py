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
    if not known and evidence.checkpoint.format == "gguf":
        from .gguf_loading import is_gguf_model

        known = is_gguf_model(evidence)
    return {"whole": is_whole(problems, known=known), "problems": problems}


def judged_config(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """The same of a config without weights: nothing says which files should be there."""
    problems = by_weight(_config_problems(config))
    return {"whole": is_whole(problems, known=False), "problems": problems}


def _problems(evidence: Evidence) -> Iterator[Problem]:
    yield from missing_files(evidence)
    if evidence.checkpoint.format == "gguf":
        from .gguf_loading import gguf_problems

        yield from gguf_problems(evidence)


def _config_problems(config: Mapping[str, Any] | None) -> Iterator[Problem]:
    if config is None:
        return
    yield from ()
