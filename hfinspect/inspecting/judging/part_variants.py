"""Variants of a pipeline's weights (fp16, non_ema): whether one of them loads every part.

``from_pretrained(variant="fp16")`` takes a part's files of that variant where there are any, and
its plain ones where there are none; without a variant only plain ones. Source:
``_identify_model_variants`` in pipelines/pipeline_loading_utils.py of diffusers 0.42.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...checkpoints.filenames import FileKind
from ...core.wholeness import Problem
from .parts_declared import PartsEvidence, holds_weights, weights_there


def variant_problems(evidence: PartsEvidence) -> Iterator[Problem]:
    """Parts that no one variant loads together, or only one that has to be named."""
    if not evidence.is_pipeline or not evidence.complete:
        return
    variants = {
        part: names
        for part in evidence.parts
        if holds_weights(evidence, part) and (names := _variants(evidence, part))
    }
    without_plain = [part for part, names in variants.items() if "" not in names]
    if not without_plain:
        return
    options = set().union(*variants.values()) - {""}
    fitting = [
        one for one in sorted(options) if all({one, ""} & names for names in variants.values())
    ]
    if not fitting:
        yield _none_fits(variants, without_plain)
    elif len(without_plain) < len(variants):
        part = without_plain[0]
        others = [name for name in variants if name not in without_plain]
        yield Problem(
            "parts_differ",
            f"{', '.join(without_plain)} has files of the variant {fitting[0]} alone, "
            f"{', '.join(others)} plain ones: without a variant it does not load",
            len(without_plain),
            part,
            fix=f'load with variant="{fitting[0]}"',
            file=evidence.naming,
            severity="warning",
            names=tuple(without_plain),
        )


def _none_fits(variants: Mapping[str, set[str]], without_plain: list[str]) -> Problem:
    these = ", ".join(
        f"{part} has {' and '.join(sorted(variants[part]))}" for part in without_plain
    )
    return Problem(
        "parts_differ",
        f"no one variant loads every part: {these} alone",
        len(without_plain),
        without_plain[0],
        fix="complete the files of one variant",
        names=tuple(without_plain),
    )


def _variants(evidence: PartsEvidence, part: str) -> set[str]:
    """Variants of the files under the names that loaders look for; the plain one is empty."""
    return {name.variant for name in weights_there(evidence, part) if name.kind is FileKind.MODEL}
