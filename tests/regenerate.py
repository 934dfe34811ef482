"""Everything that is generated and committed, by one command.

``python -m tests.regenerate`` writes the catalog's index, the JSON schemas, and the tables and
outputs of the documents. ``python -m tests.regenerate TYPE ...`` first records what transformers
makes of the case files of these families: what it saves, what it keeps between tokens, and (of the
types that ``record printed`` lists) what it prints. That needs ``pip install -e '.[oracle]'``.
``python -m tests.regenerate --all`` records those of every family, which takes five minutes and
3.2 GB, and writes the golden files of explain as well.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .catalog_index import write_index

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT / "fixtures" / "oracle" / "cases"
#: What ``python -m tests.oracle record`` records family by family.
RECORDERS = ("saves", "caches", "printed")


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
    write_index()
    from . import readme_outputs, readme_tables, rule_pages, schema_files

    schema_files.main()
    rule_pages.main()

    for document in readme_tables.DOCUMENTS:
        columns = readme_outputs.columns_of(document)
        tables = readme_tables.filled(document.read_text())
        document.write_text(readme_outputs.filled(tables, columns))


if __name__ == "__main__":
    main(sys.argv[1:])
