"""``trees/index.json`` from what the family files register.

``python catalog_index.py`` writes that of the package which Python finds: of a copy too, in whose
folder it is run.
"""

from __future__ import annotations

import json
from pathlib import Path

from hfinspect.trees import catalog

INDEX = Path(catalog.__file__).with_name("index.json")


def index_text() -> str:
    """``index.json`` as it should be: what the family files register, one line a file."""
    by_type, by_class = catalog.registered()
    files: dict[str, dict[str, list[str]]] = {}
    for name, family in by_type.items():
        files.setdefault(family.file, {})[name] = []
    for name, family in by_class.items():
        kind = next((t for t in family.model_types if by_type.get(t) is family), "")
        files.setdefault(family.file, {}).setdefault(kind, []).append(name)
    joined = {
        file: {kind: " ".join(sorted(names)) for kind, names in sorted(kinds.items())}
        for file, kinds in sorted(files.items())
    }
    lines = (f"{json.dumps(file)}: {json.dumps(kinds)}" for file, kinds in joined.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_index() -> None:
    """The index as it should be. No family file may have been read before."""
    _forget_types()
    INDEX.write_text(index_text(), encoding="utf-8")
    catalog.index.cache_clear()  # the tables are those of the new one


def _forget_types() -> None:
    """Leave in the index only where classes are: whose a type is that two files have, the files
    say, and a type may have moved from one to the other. Deleted files go."""
    held = json.loads(INDEX.read_text(encoding="utf-8"))
    room = INDEX.parents[1] / "architectures"
    there = {
        file: {"": " ".join(kinds.values())}
        for file, kinds in held.items()
        if (room / f"{file}.py").exists() or (room / f"{file}.json").exists()
    }
    INDEX.write_text(json.dumps(there), encoding="utf-8")
    catalog.index.cache_clear()


if __name__ == "__main__":
    write_index()
