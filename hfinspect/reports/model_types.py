"""The layout of the catalog of architectures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.json_form import plain
from ..trees.catalog import Family
from .document import Column, Document, Paragraph, Table


def lay_out(families: Sequence[Family], wanted: str = "") -> Document:
    """One row a family, by category. Of one that has names instead of model types (timm's), those
    that contain ``wanted``."""
    ordered = sorted(families, key=lambda f: (f.category, [t.lower() for t in types_of(f)]))
    table = Table(
        (
            Column("model_type", "model_type"),
            Column("category", "category"),
            Column("classes", "classes", "int"),
            Column("default", "most common class"),
            Column("source", "source"),
        ),
        tuple(
            (", ".join(types_of(f, wanted)), f.category, len(f.classes), f.default, f.source)
            for f in ordered
        ),
        optional=("category", "classes", "default", "source"),
    )
    count = sum(len(types_of(family, wanted)) for family in families)
    return Document("", (table, Paragraph(f"in all {count:,}")), table)


def types_of(family: Family, wanted: str = "") -> tuple[str, ...]:
    """The family's model types, or where it has none (diffusers, timm) its class: the ones that
    contain ``wanted``, else the most common."""
    classes = tuple(name for name in family.classes if wanted and wanted in name.lower())
    return family.model_types or classes or (family.default,)


def to_dict(families: Sequence[Family]) -> dict[str, Any]:
    return {"architectures": plain(families)}


#: Order of the categories in the README's table.
_CATEGORIES = (
    "text decoder",
    "encoder",
    "encoder-decoder",
    "multimodal",
    "vision",
    "audio",
    "diffusion",
)


def coverage_markdown(families: Sequence[Family]) -> str:
    """A Markdown table of the model types by category, for the README."""
    lines = ["| category | model types |", "| --- | --- |"]
    known = sorted({f.category for f in families} - set(_CATEGORIES))
    for category in (*_CATEGORIES, *known):
        names = sorted(
            {name for f in families if f.category == category for name in _names(f)},
            key=lambda name: (name.lower(), name),
        )
        if names:
            lines.append(f"| {category} ({len(names)}) | {', '.join(names)} |")
    return "\n".join(lines)


def _names(family: Family) -> list[str]:
    """Model types; where shapes are not of a library that is judged here, marked with a star."""
    mark = "" if family.source in ("transformers", "diffusers", "timm") else "\\*"
    return [name + mark for name in family.model_types or tuple(family.classes)]
