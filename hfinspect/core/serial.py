"""The JSON forms of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .checkpoint import Finding
from .results import SCHEMA_VERSION, Beyond, Inspection, Member, Quantization, Totals, VariantFile
from .tensors import TensorInfo


def inspection_to_dict(inspection: Inspection, *, tensors: bool) -> dict[str, Any]:
    """``Inspection`` as described by schemas/inspection.schema.json."""
    origin = inspection.origin
    expectation = inspection.expectation
    result: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "target": inspection.target,
        "origin": {
            "kind": origin.kind,
            "name": origin.name,
            "repo_id": origin.repo_id,
            "revision": origin.revision,
            "commit": origin.commit,
            "path": origin.path,
        },
        "hub": None if origin.hub is None else origin.hub.to_dict(),
        "source": inspection.source,
        "overrides": [one.to_dict() for one in inspection.overrides],
        "model_type": inspection.model_type,
        "architecture": inspection.architecture,
        "catalogued": inspection.catalogued,
        "format": inspection.format,
        "complete": inspection.complete,
        "facts": inspection.facts.to_dict(),
        "parameters": inspection.parameters,
        "parameters_with_head": inspection.parameters_with_head,
        "active_parameters": inspection.active_parameters,
        "logical": inspection.logical,
        "stored": inspection.stored,
        "buffers": inspection.buffers,
        "bookkeeping": inspection.bookkeeping,
        "nbytes": inspection.nbytes,
        "components": _groups(inspection.components),
        "parts": _groups(inspection.parts),
        "dtypes": _groups(inspection.dtypes),
        "memory": inspection.memory,
        "tied": dict(inspection.tied),
        "files": [
            {
                "path": file.path,
                "format": file.format,
                "size": file.size,
                "tensors": file.tensors,
                "header_bytes": file.header_bytes,
            }
            for file in inspection.files
        ],
        "other_files": dict(inspection.other_files),
        "missing_files": list(inspection.missing_files),
        "chosen_because": inspection.chosen_because,
        "beyond": beyond_to_list(inspection.beyond),
        "assumed": inspection.assumed.to_dict() if inspection.assumed else None,
        "expectation": None
        if expectation is None
        else {
            "parameters": expectation.parameters,
            "missing": list(expectation.missing),
            "unexpected": list(expectation.unexpected),
            "unsaved": list(expectation.unsaved),
            "reshaped": {
                name: {"found": list(found), "expected": list(expected)}
                for name, (found, expected) in expectation.reshaped.items()
            },
        },
        "quantization": _quantization(inspection.quantization),
        "layout": inspection.layout,
        "members": [_member(member) for member in inspection.members],
        "variants": [_variant(variant) for variant in inspection.variants],
        "adapter": _adapter(inspection),
        "contents": dict(inspection.contents),
        "findings": [finding_to_dict(finding) for finding in inspection.findings],
    }
    if tensors:
        result["tensors"] = [tensor_to_dict(tensor) for tensor in inspection.tensors]
    return result


def _groups(groups: Mapping[str, Totals]) -> dict[str, dict[str, int | None]]:
    return {
        name: {"parameters": t.parameters, "tensors": t.tensors, "nbytes": t.nbytes}
        for name, t in groups.items()
    }


def _quantization(found: Quantization | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "method": found.method,
        "bits": found.bits,
        "packed_parameters": found.packed_parameters,
        "packed_bytes": found.packed_bytes,
        "roles": dict(found.roles),
        "scheme": found.scheme,
        "widths": dict(found.widths),
        "weight_bits": _ratio(found.weight_bits),
        "effective_bits": _ratio(found.effective_bits),
        "group_size": found.group_size,
        "declared_in": found.declared_in,
    }


def _member(member: Member) -> dict[str, Any]:
    return {
        "name": member.name,
        "declared": member.declared,
        "architecture": member.architecture,
        "catalogued": member.catalogued,
        "parameters": member.parameters,
        "predicted": member.predicted,
        "nbytes": member.nbytes,
        "dtypes": list(member.dtypes),
        "files": list(member.files),
        "complete": member.complete,
        "quantization": _quantization(member.quantization),
        "facts": member.facts.to_dict(),
    }


def _variant(variant: VariantFile) -> dict[str, Any]:
    return {
        "label": variant.label,
        "files": list(variant.files),
        "size": variant.size,
        "bits_per_weight": _ratio(variant.bits_per_weight),
        "read": variant.read,
    }


def _adapter(inspection: Inspection) -> dict[str, Any] | None:
    adapter = inspection.adapter
    if adapter is None:
        return None
    return {
        "type": adapter.type,
        "rank": adapter.rank,
        "alpha": adapter.alpha,
        "targets": list(adapter.targets),
        "saved": list(adapter.saved),
        "task": adapter.task,
        "base": adapter.base,
        "base_parameters": adapter.base_parameters,
    }


def _ratio(pair: tuple[int, int] | None) -> dict[str, int] | None:
    return None if pair is None else {"bits": pair[0], "parameters": pair[1]}


def beyond_to_list(groups: Iterable[Beyond]) -> list[dict[str, Any]]:
    """What the files hold beyond the class."""
    return [
        {
            "kind": group.kind,
            "parameters": group.parameters,
            "tensors": group.tensors,
            "nbytes": group.nbytes,
            "first": group.first,
        }
        for group in groups
    ]


def finding_to_dict(finding: Finding) -> dict[str, str | None]:
    """A finding: rule, severity, text, file and tensor where it concerns one."""
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "text": finding.text,
        "file": finding.file,
        "tensor": finding.tensor,
    }


def tensor_to_dict(tensor: TensorInfo) -> dict[str, Any]:
    """One tensor with its labels."""
    return {
        "name": tensor.name,
        "shape": [int(size) for size in tensor.shape],
        "dtype": tensor.dtype,
        "parameters": tensor.parameters,
        "elements": tensor.elements,
        "nbytes": tensor.nbytes,
        "component": str(tensor.component),
        "kind": tensor.kind,
        "role": str(tensor.role),
        "part": tensor.part,
        "stack": tensor.stack,
        "layer": tensor.layer,
        "file": tensor.file,
        "tied_to": tensor.tied_to,
        "view_of": tensor.view_of,
        "shared_nbytes": tensor.shared[1] if tensor.shared else 0,
        "beyond": tensor.beyond,
    }
