"""The tables of README and docs that are read off the code.

``python -m tests.readme_tables`` writes them between their markers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from hfinspect.auditing.registry import GROUPS, rules
from hfinspect.trees.catalog import Family, families

from . import catalog_tables, python_fields
from .schemas import FOLDER

ROOT = Path(__file__).resolve().parents[1]
#: README and all of docs/.
DOCUMENTS = [
    ROOT / "README.md",
    *(p for p in sorted((ROOT / "docs").rglob("*.md")) if p.parent.name != "rules"),
]


#: Order of the categories in the README's table.
CATEGORIES = (
    *("text decoder", "encoder", "encoder-decoder", "multimodal", "vision", "audio", "diffusion"),
)


def architectures() -> str:
    """The model types by category."""
    lines = ["| category | model types |", "| --- | --- |"]
    known = sorted({family.category for family in families()} - set(CATEGORIES))
    for category in (*CATEGORIES, *known):
        types = {name for f in families() if f.category == category for name in _types(f)}
        if types:
            listed = ", ".join(sorted(types, key=lambda name: (name.lower(), name)))
            lines.append(f"| {category} ({len(types)}) | {listed} |")
    return "\n".join(lines)


def _types(family: Family) -> list[str]:
    """Model types; where shapes are not of a library that is judged here, marked with a star."""
    mark = "" if family.source in ("transformers", "diffusers", "timm") else "\\*"
    return [name + mark for name in family.model_types or tuple(family.classes)]


def audit() -> str:
    """All rules."""
    lines = ["| code | severity | what it looks for |", "| --- | --- | --- |"]
    group = ""
    for item in rules().values():
        if item.code[:3] != group:
            group = item.code[:3]
            lines.append(f"| **{group}xx** | | **{GROUPS[group]}** |")
        deep = " (`--deep`)" if item.deep else ""
        what = item.what.replace("|", "\\|")
        lines.append(f"| {item.code} | {item.severity} | {what}{deep} |")
    return "\n".join(lines)


def names() -> str:
    """The lists of names in pickles: how long each is, what it is and what it is not."""
    from hfinspect.auditing.facts.pickle_names import read_list

    rows = {
        "weights_only": (
            "allowed everywhere: what `torch.load(weights_only=True)` of torch 2.13 allows, whole",
            "a list of ours: nothing is added, and no other name passes in a weight file",
        ),
        "libraries": (
            "allowed outside of weight files (HI402): reviewed classes and constructors",
            "a list of libraries: no name passes for its package, nor what a listed name holds",
        ),
        "runs_code": (
            "refused by name (HI401): runs code, starts programs, or reaches files or the network",
            "what decides: a name on no list is an error all the same (HI415)",
        ),
    }
    lines = ["| list | lines | what it is | what it is not |", "| --- | ---: | --- | --- |"]
    for name, (what, what_not) in rows.items():
        lines.append(f"| `{name}.txt` | {len(read_list(name))} | {what} | {what_not} |")
    return "\n".join(lines)


def columns() -> str:
    from hfinspect.scanning import rows

    lines = ["| column | type | meaning |", "| --- | --- | --- |"]
    for group, note in (
        (rows.LEADING, ""),
        (rows.COLUMNS, ""),
        (rows.MEMORY_COLUMNS, " (`--on`)"),
        (rows.AUDIT_COLUMNS, " (`--audit`)"),
        (rows.TOTALS_COLUMNS, " (`--totals-only`)"),
    ):
        lines += [
            f"| `{name}` | {column.kind} | {column.meaning}{note} |"
            for name, column in group.items()
            if group is rows.COLUMNS or name not in rows.COLUMNS
        ]
    return "\n".join(lines)


def limits() -> str:
    from .limits_table import table

    return table()


def requests() -> str:
    from .sources.requests_table import table

    return table()


def engine_lists() -> str:
    """What ``runs`` compares with: which version of each engine was read, and when."""
    from hfinspect.running.registry import LOADERS

    lines = ["| engine | version read | on |", "| --- | --- | --- |"]
    lines += [f"| {one.label} | {one.version} | {one.read} |" for one in LOADERS.values()]
    return "\n".join(lines)


def wire() -> str:
    from .sources.wire_rows import table

    return table()


def schemas() -> str:
    """The JSON schemas, each with what it describes."""
    rows = []
    for path in sorted(FOLDER.glob("*.schema.json")):
        text = json.loads(path.read_text())["description"]
        rows.append(f"- [{path.name}](../hfinspect/schemas/{path.name}): {text}")
    return "\n".join(rows)


TABLES: dict[str, Callable[[], str]] = {
    "architectures": architectures,
    "audit": audit,
    "columns": columns,
    "fields": python_fields.tables,
    "limits": limits,
    "left out": catalog_tables.left_out,
    "names": names,
    "requests": requests,
    "schemas": schemas,
    "verbs": python_fields.verbs,
    "wire": wire,
    "engine-lists": engine_lists,
}


def filled(text: str) -> str:
    """A document with every table as it should be."""
    for name, table in TABLES.items():
        begin = f"<!-- table: {name} -->"
        end = "<!-- end -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        if pattern.search(text):
            block = f"{begin}\n{table()}\n{end}"
            text = pattern.sub(lambda _match, b=block: b, text)  # type: ignore[misc]
    return text


if __name__ == "__main__":
    for document in DOCUMENTS:
        document.write_text(filled(document.read_text()))
