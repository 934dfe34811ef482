"""The JSON form of an explanation: every formula as a string, in numbers and as a tree."""

from __future__ import annotations

from typing import Any

from .explanation import (
    Against,
    Approximation,
    Attention,
    Convention,
    Explanation,
    Measurement,
    NameSize,
    Row,
    Section,
    Share,
)  # fmt: skip
from .formula import Formula
from .serial import beyond_to_list


def explanation_to_dict(e: Explanation) -> dict[str, Any]:
    """As described by schemas/explanation.schema.json, without the version."""
    origin = e.origin
    return {
        "target": e.target,
        "origin": {
            "kind": origin.kind,
            "name": origin.name,
            "repo_id": origin.repo_id,
            "revision": origin.revision,
            "commit": origin.commit,
            "path": origin.path,
        },
        "overrides": [one.to_dict() for one in e.overrides],
        "model_type": e.model_type,
        "architecture": e.architecture,
        "symbols": [
            {"letter": s.letter, "key": s.key, "value": s.value, "meaning": s.meaning}
            for s in e.letters
        ],
        "sections": [_section(section) for section in e.sections],
        "components": [_share(share) for share in e.shares],
        "parameters": e.parameters,
        "closed_form": _formula(e.closed),
        "closed_form_note": e.closed_note,
        "parameters_with_head": e.parameters_with_head,
        "active_parameters": e.active_parameters,
        "beyond": beyond_to_list(e.beyond),
        "assumed": e.assumed.to_dict() if e.assumed else None,
        "embedding": e.embedding,
        "non_embedding": e.parameters - e.embedding,
        "memory": e.memory,
        "nbytes": e.nbytes,
        "quantization": e.quantization,
        "tied": dict(e.tied),
        "attention": [_attention(block) for block in e.attention],
        "notes": [{"about": about, "text": text} for about, text in e.notes],
        "counts": [{"convention": c.name, "parameters": c.value} for c in e.counts],
        "approximation": _approximation(e.approximation),
        "name_size": _name_size(e.name_size),
        "measured": _measured(e.measured),
        "against": _against(e.against),
    }


def _formula(formula: Formula | None) -> dict[str, Any] | None:
    return None if formula is None else formula.to_dict()


def _section(section: Section) -> dict[str, Any]:
    return {
        "title": section.title,
        "path": section.path,
        "layers": list(section.layers),
        "times": _formula(section.times),
        "rows": [_row(row) for row in section.rows],
        "components": [_share(share) for share in section.shares],
        "one": _formula(section.one),
        "one_value": section.value,
        "total": _formula(section.total),
        "parameters": section.parameters,
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "path": row.path,
        "label": row.label,
        "indent": row.indent,
        "level": row.level,
        "component": row.component,
        "kind": row.kind,
        "status": row.status,
        "tied_to": row.tied_to,
        "weights": _formula(row.weights),
        "biases": _formula(row.biases),
        "formula": row.count.to_dict(),
        "parameters": row.value,
    }


def _share(share: Share) -> dict[str, Any]:
    return {
        "component": share.component,
        "weights": share.weights,
        "biases": share.biases,
        "parameters": share.value,
        "formula": _formula(share.formula),
    }


def _attention(block: Attention) -> dict[str, Any]:
    return {
        "path": block.path,
        "sentence": block.sentence,
        "projections": [
            {
                "name": p.name,
                "weights": p.weights.to_dict(),
                "per_head": _formula(p.per_head),
                "heads": p.heads,
                "letter": p.letter,
            }
            for p in block.projections
        ],
    }


def _approximation(found: Approximation | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "formula": found.formula.to_dict(),
        "embedding": found.embedding,
        "non_embedding": found.non_embedding,
        "left_over": found.left_over,
        "left_over_formula": _formula(found.rest),
    }


def _name_size(found: NameSize | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "text": found.text,
        "says": found.says,
        "low": found.low,
        "high": found.high,
        "reached": [{"convention": c.name, "parameters": c.value} for c in found.reached],
        "nearest": {"convention": found.nearest.name, "parameters": found.nearest.value},
    }


def _measured(found: Measurement | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "parameters": found.parameters,
        "components": dict(found.components),
        "complete": found.complete,
        "unexplained": found.unexplained,
        "differences": [
            {"tensor": d.tensor, "reason": d.reason, "parameters": d.parameters}
            for d in found.differences
        ],
    }


def _against(found: Against | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "text": found.text,
        "number": found.number,
        "rounds_from": found.fits[0],
        "rounds_to": found.fits[1] - 1,
        "difference": found.difference,
        "readings": [[_convention(c) for c in reading] for reading in found.readings],
        "searched": found.searched,
        "at_most": found.at_most,
        "closed_form": _formula(found.closed),
        "other_form": _formula(found.other),
        "terms": [
            {"term": t.text, "value": t.value, "right": t.right, "other": t.other}
            for t in found.terms
        ],
    }


def _convention(found: Convention) -> dict[str, Any]:
    return {
        "name": found.name,
        "text": found.text,
        "delta": _formula(found.delta),
        "value": found.value,
    }
