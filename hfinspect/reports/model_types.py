"""The layout of the catalog of architectures."""

from collections.abc import Sequence

from ..core.json_form import JsonForm
from ..core.records import dataclass
from ..trees.catalog import Family
from .document import Column, Document, Paragraph, Table


@dataclass(frozen=True)
class Architectures(JsonForm):
    """What the catalog knows.

    Fields:
        architectures: its families
    """

    architectures: Sequence[Family]


def lay_out(families: Sequence[Family], search: str = "") -> Document:
    """One row a family, by category. Of one that has names instead of model types (timm's), those
    that contain ``search``."""
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
            (", ".join(types_of(f, search)), f.category, len(f.classes), f.default, f.source)
            for f in ordered
        ),
        optional=("category", "classes", "default", "source"),
    )
    count = sum(len(types_of(family, search)) for family in families)
    return Document("", (table, Paragraph(f"in all {count:,}")), table)


def types_of(family: Family, search: str = "") -> tuple[str, ...]:
    """The family's model types, or where it has none (diffusers, timm) its class: the ones that
    contain ``search``, else the most common."""
    classes = tuple(name for name in family.classes if search and search in name.lower())
    return family.model_types or classes or (family.default,)
