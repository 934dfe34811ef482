"""Everything that is generated and committed, by one command.

``python -m tests.regenerate`` writes the catalog's index, the JSON schemas, and the tables and
outputs of the documents. ``python -m tests.regenerate TYPE ...`` first records what transformers
makes of the case files of these families: what it saves, what it keeps between tokens, and (of the
types that ``record printed`` lists) what it prints. That needs ``pip install -e '.[oracle]'``.
``python -m tests.regenerate --all`` records those of every family, which takes five minutes and
3.2 GB, and writes the golden files of explain as well.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from hfinspect.trees import catalog

ROOT = Path(__file__).resolve().parents[1]
INDEX = ROOT / "hfinspect" / "trees" / "index.json"
CASES = ROOT / "fixtures" / "oracle" / "cases"
#: What ``python -m tests.oracle record`` records family by family.
RECORDERS = ("saves", "caches", "printed")


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


def _forget_types() -> None:
    """Leave in the index only where classes are: whose a type is that two files have, the files
    say, and a type may have moved from one to the other. Deleted files go."""
    held = json.loads(INDEX.read_text(encoding="utf-8"))
    room = ROOT / "hfinspect" / "architectures"
    there = {
        file: {"": " ".join(kinds.values())}
        for file, kinds in held.items()
        if (room / f"{file}.py").exists() or (room / f"{file}.json").exists()
    }
    INDEX.write_text(json.dumps(there), encoding="utf-8")
    catalog.index.cache_clear()


def main(words: list[str]) -> None:
    everything = "--all" in words
    types = [word for word in words if word != "--all"]
    for name in types:
        if name.startswith("-"):
            sys.exit(f"{name}: no such option; expected --all or names of case files")
        if not (CASES / f"{name}.json").exists():
            sys.exit(
                f"fixtures/oracle/cases/{name}.json: no such case file; write it first "
                "(docs/adding-a-model.md), or record a trace: python -m tests.oracle trace TYPE"
            )
    # Without names a recorder takes every case file. What one of them lacks costs no other.
    recorders = RECORDERS if types or everything else ()
    names = [] if everything else types
    done = [_run("tests.oracle", "record", recorder, *names) for recorder in recorders]
    if not all(done):
        sys.exit("not everything was recorded (above: why); nothing else was written")
    write_generated()
    if everything:
        _run("tests.explaining.golden_explain")


def _run(module: str, *words: str) -> bool:
    """Whether it did all that it was to do."""
    return not subprocess.run(
        [sys.executable, "-m", module, *words], check=False, cwd=ROOT
    ).returncode


def write_generated() -> None:
    """The index, the schemas, the pages of rules, and the tables and outputs of the documents."""
    _forget_types()
    INDEX.write_text(index_text(), encoding="utf-8")
    catalog.index.cache_clear()  # the tables are those of the new one
    from . import readme_outputs, readme_tables, rule_pages, schema_files

    schema_files.main()
    rule_pages.main()

    for document in readme_tables.DOCUMENTS:
        columns = readme_outputs.columns_of(document)
        tables = readme_tables.filled(document.read_text())
        document.write_text(readme_outputs.filled(tables, columns))


if __name__ == "__main__":
    main(sys.argv[1:])
