"""A result as a row: plain columns with names and types that a DataFrame takes as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ..core.results import Failure, Inspection
from ..errors import UsageError

Value = str | int | bool | None
Row = dict[str, Value]

#: Columns that every row has, first and in this order: they say whether the rest means anything.
LEADING: Final = ("target", "status", "error_kind", "error")


def _component(name: str) -> Callable[[Inspection], Value]:
    def value(found: Inspection) -> Value:
        totals = found.components.get(name)
        return 0 if totals is None else totals.parameters

    return value


def _main_dtype(found: Inspection) -> Value:
    """The dtype of most bytes; of most tensors where sizes are unknown."""
    sized = {name: totals.nbytes or 0 for name, totals in found.dtypes.items()}
    return max(sized, key=lambda name: sized[name]) if sized else None


#: Column -> (type for Parquet, value). Integers are int64, null where unknown.
COLUMNS: Final[Mapping[str, tuple[str, Callable[[Inspection], Value]]]] = {
    "repo_id": ("string", lambda f: f.repo_id),
    "revision": ("string", lambda f: f.revision),
    "commit": ("string", lambda f: f.commit),
    "read_from": ("string", lambda f: f.origin.kind),
    "source": ("string", lambda f: f.source),
    "format": ("string", lambda f: f.format),
    "model_type": ("string", lambda f: f.model_type),
    "architecture": ("string", lambda f: f.architecture),
    "catalogued": ("bool", lambda f: f.catalogued),
    "complete": ("bool", lambda f: f.complete),
    "parameters": ("int64", lambda f: f.parameters),
    "parameters_with_head": ("int64", lambda f: f.parameters_with_head),
    "active_parameters": ("int64", lambda f: f.active_parameters),
    "logical": ("int64", lambda f: f.logical),
    "stored": ("int64", lambda f: f.stored),
    "buffers": ("int64", lambda f: f.buffers),
    "embedding": ("int64", _component("embedding")),
    "attention": ("int64", _component("attention")),
    "mlp": ("int64", _component("mlp")),
    "router": ("int64", _component("router")),
    "ssm": ("int64", _component("ssm")),
    "conv": ("int64", _component("conv")),
    "projector": ("int64", _component("projector")),
    "norm": ("int64", _component("norm")),
    "head": ("int64", _component("head")),
    "other": ("int64", _component("other")),
    "tied": ("bool", lambda f: bool(f.tied)),
    "dtype": ("string", _main_dtype),
    "dtypes": ("string", lambda f: " ".join(f.dtypes)),
    "quantization": ("string", lambda f: f.quantization.method if f.quantization else None),
    "bits": ("int64", lambda f: f.quantization.bits if f.quantization else None),
    "nbytes": ("int64", lambda f: f.nbytes),
    "tensors": ("int64", lambda f: len(f.tensors)),
    "files": ("int64", lambda f: len(f.files)),
    "findings": ("int64", lambda f: len(f.findings)),
}

#: Columns of ``--audit``.
AUDIT_COLUMNS: Final = {
    "audit_errors": "int64",
    "audit_warnings": "int64",
    "audit_notes": "int64",
    "audit_codes": "string",
}

#: Columns of ``--totals-only``: what the Hub says of itself.
TOTALS_COLUMNS: Final = {
    "repo_id": "string",
    "commit": "string",
    "hub_reported_parameters": "int64",
    "hub_reported_dtypes": "string",
}


def chosen_columns(text: str | None) -> tuple[str, ...]:
    """Columns named in a comma-separated list; all of them for None. Raises UsageError."""
    if text is None:
        return tuple(COLUMNS)
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in COLUMNS and name not in LEADING]
    if unknown or not names:
        raise UsageError(
            f"column {unknown[0]!r}" if unknown else "columns",
            "is unknown" if unknown else "are none",
            expected=", ".join(COLUMNS),
        )
    return tuple(dict.fromkeys(name for name in names if name not in LEADING))


def row_of(result: Inspection | Failure, columns: Sequence[str], target: str | None = None) -> Row:
    """One row: the leading columns, then ``columns`` (null for a failed target)."""
    if isinstance(result, Failure):
        lead = (result.target, "failed", result.kind, str(result.error))
        return {**dict(zip(LEADING, lead, strict=True)), **dict.fromkeys(columns)}
    lead_ok = (target or result.target, "ok", None, None)
    return {
        **dict(zip(LEADING, lead_ok, strict=True)),
        **{name: COLUMNS[name][1](result) for name in columns},
    }


def types_of(columns: Sequence[str]) -> dict[str, str]:
    """Column -> type of a whole row, in order."""
    known = {name: kind for name, (kind, _) in COLUMNS.items()}
    known.update(AUDIT_COLUMNS)
    known.update(TOTALS_COLUMNS)
    return {**dict.fromkeys(LEADING, "string"), **{name: known[name] for name in columns}}
