"""The layout of the catalog of architectures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..trees.catalog import Family
from .document import Column, Document, Paragraph, Table


def lay_out(families: Sequence[Family]) -> Document:
    """One row a family, by category."""
    ordered = sorted(families, key=lambda f: (f.category, types_of(f).lower()))
    table = Table(
        (
            Column("model_type", "model_type"),
            Column("category", "category"),
            Column("classes", "classes", "int"),
            Column("default", "most common class"),
            Column("source", "source"),
        ),
        tuple((types_of(f), f.category, len(f.classes), f.default, f.source) for f in ordered),
        optional=("category", "classes", "default", "source"),
    )
    count = sum(len(family.model_types) or 1 for family in families)
    return Document("", (table, Paragraph(f"{count} model types")), table)


def types_of(family: Family) -> str:
    """The family's model types, or its class where it has none (diffusers)."""
    return ", ".join(family.model_types) or family.default


def to_dict(families: Sequence[Family]) -> dict[str, Any]:
    return {
        "architectures": [
            {
                "model_types": list(f.model_types),
                "category": f.category,
                "classes": list(f.classes),
                "default": f.default,
                "source": f.source,
            }
            for f in families
        ]
    }


#: Order of the categories in the README's table.
_CATEGORIES = (
    "text decoder", "encoder", "encoder-decoder", "multimodal", "vision", "audio", "diffusion",
)  # fmt: skip


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
    """Model types; where shapes are not transformers' or diffusers' own, marked with a star."""
    mark = "" if family.source in ("transformers", "diffusers") else "\\*"
    return [name + mark for name in family.model_types or tuple(family.classes)]
