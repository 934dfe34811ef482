"""The examples of README and docs, run as they stand."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import typer

from hfinspect.cli import app, fast_path
from hfinspect.trees.catalog import families, index

from . import readme_outputs, readme_tables
from .cli.program import ROOT

TEXTS = {path.name: path.read_text() for path in readme_tables.DOCUMENTS}
PYTHON = [
    pytest.param(name, body, id=f"{name}-{i}")
    for name, text in TEXTS.items()
    for i, body in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
]
SHOWN = [
    (m["command"].strip(), m["output"], readme_outputs.columns_of(Path(name)))
    for name, text in TEXTS.items()
    for m in readme_outputs.SHOWN.finditer(text)
]


@pytest.mark.parametrize(("command", "output", "columns"), SHOWN, ids=lambda text: text[:40])
def test_shown_output_is_what_comes_out(command: str, output: str, columns: str) -> None:
    """``python -m tests.readme_outputs`` writes them."""
    assert readme_outputs.output_of(command, columns) == output


def test_outputs_are_shown() -> None:
    """The main job, and explain with its worked examples."""
    assert len(SHOWN) >= 8


@pytest.mark.parametrize(("document", "code"), PYTHON)
def test_python_examples_run(document: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(code, document, "exec"), {})


@pytest.mark.parametrize("name", TEXTS)
def test_commands_exist(name: str) -> None:
    """Every command that a document names is one."""
    words = set(re.findall(r"^hfinspect ([a-z]+) [A-Z.<'a-z-]", TEXTS[name], re.MULTILINE))
    assert words <= set(fast_path.COMMANDS)


_COMMAND_LINE = re.compile(r"(?:^|&& |uvx )hfinspect +([^|#\n]+)", re.MULTILINE)


def test_options_exist() -> None:
    """Every option in a command line of a document is one of that command."""
    group = typer.main.get_command(app.make_app())
    assert isinstance(group, typer.core.TyperGroup)
    unknown = []
    for name, text in TEXTS.items():
        lines = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
        for line in re.findall(_COMMAND_LINE, lines.replace("\\\n", " ")):
            command, *words = app.with_command(line.split())
            if command.startswith("--"):  # of the program itself
                words = [command, *words]
                command = "inspect"
            known = {"--version", "--help", "--install-completion"} | {
                option for one in group.commands[command].params for option in one.opts
            }
            unknown += [
                f"{name}: {w}" for w in words if w.startswith("-") and w not in known | {"-"}
            ]
    assert unknown == []


@pytest.mark.parametrize("name", TEXTS)
def test_tables_are_those_of_the_code(name: str) -> None:
    """``python -m tests.readme_tables`` writes them."""
    if name == "catalog.md":  # it counts the recordings
        from . import oracle_folder  # noqa: F401
    assert readme_tables.filled(TEXTS[name]) == TEXTS[name], "run `python -m tests.regenerate`"


def test_every_table_is_shown() -> None:
    shown = "".join(TEXTS.values())
    assert [name for name in readme_tables.TABLES if f"<!-- table: {name} -->" not in shown] == []


def test_links_lead_somewhere() -> None:
    """Links between the documents and into the repository."""
    broken = [
        f"{document.name}: {target}"
        for document in readme_tables.DOCUMENTS
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", document.read_text())
        if not (document.parent / target).exists()
    ]
    assert broken == []


def test_the_licence_is_here() -> None:
    assert "Apache License" in Path(ROOT / "LICENSE").read_text()


def test_two_commands_do_everything() -> None:
    """One installs and runs the main job, one installs and passes the tests; .ci/run runs what
    stands here."""
    lines = TEXTS["README.md"].splitlines()
    assert "pip install . && hfinspect fixtures/models/bloom-1b4-zh" in lines
    assert "pip install '.[test]' && pytest -n auto" in lines


def test_the_readme_stays_short() -> None:
    """What is longer belongs into docs/, which README links to, every document of it."""
    assert len(TEXTS["README.md"].splitlines()) <= 260
    top = [path.name for path in readme_tables.DOCUMENTS if path.parent.name == "docs"]
    assert [name for name in top if f"(docs/{name})" not in TEXTS["README.md"]] == []


def test_a_release_is_told_on_a_screen() -> None:
    for release in (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1:]:
        assert len(release.splitlines()) <= 30, "say it shorter: the documents have the details"


def test_the_change_log_counts_the_catalog() -> None:
    """Model types of transformers and of other code; classes of diffusers; names of timm."""
    fields = (ROOT / "hfinspect" / "core" / "config_fields.json").read_text()
    library = set(json.loads(fields)["fields"])
    types = set(index().types)
    sources = {family.file: family.source for family in families()}
    named = Counter(sources[file] for file, kind in index().classes.values() if not kind)
    counts = {
        "model types of transformers": len(types & library),
        "classes of diffusers": named["diffusers"],
        "names of timm": named["timm"],
        "types of remote code": len(types - library),
    }
    text = " ".join((ROOT / "CHANGELOG.md").read_text().split())
    wrong = {what: count for what, count in counts.items() if f"{count} {what}" not in text}
    assert not wrong, "CHANGELOG.md has other numbers"
