"""``-o x.json``: the file's ending says the format, and contradicts no other."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from hfinspect.cli import options
from hfinspect.reports import registry

from .program import ROOT, hfinspect

BLOOM = "fixtures/models/bloom-1b4-zh"


@pytest.mark.parametrize(
    "command",
    [
        (BLOOM,),
        ("inspect", BLOOM),
        ("tensors", BLOOM),
        ("explain", BLOOM),
        ("audit", BLOOM),
        ("compare", BLOOM, BLOOM),
        ("architectures", "bloom"),
        (BLOOM, BLOOM),
    ],
)
def test_json_in_a_file_that_ends_so(command: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    assert hfinspect(*command, "-o", file).code == 0
    json.loads(file.read_text())
    assert hfinspect(*command, "--output", file, "--format", "json").code == 0
    refused = hfinspect(*command, "-o", file, "-f", "markdown")
    assert refused.code == 2
    assert "--format markdown: contradicts --output" in refused.err
    assert "hint: without --format the ending decides" in refused.err


@pytest.mark.parametrize(
    ("command", "name", "begins"),
    [
        ((BLOOM,), "x.csv", "component,parameters"),
        ((BLOOM,), "x.MD", "# "),
        ((BLOOM,), "x.txt", "fixtures/models"),
        ((BLOOM,), "x.out", "fixtures/models"),
        ((BLOOM,), "x", "fixtures/models"),
        (("explain", BLOOM), "x.tex", "\\"),
        (("audit", BLOOM), "x.sarif", "{"),
        (("audit", BLOOM), "x.xml", "<?xml"),
        (("audit", BLOOM, "-f", "sarif"), "x.json", "{"),
    ],
)
def test_other_endings(command: tuple[str, ...], name: str, begins: str, tmp_path: Path) -> None:
    assert hfinspect(*command, "-o", tmp_path / name).code == 0
    assert (tmp_path / name).read_text().startswith(begins)


def test_what_the_command_does_not_write(tmp_path: Path) -> None:
    done = hfinspect("explain", BLOOM, "-o", tmp_path / "x.csv")
    assert done.code == 2
    assert "means csv, which explain does not write" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_scan_writes_what_its_file_is_called(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(BLOOM)
    assert hfinspect("scan", tmp_path / "list", "-o", tmp_path / "x.csv", "-q").code == 0
    assert (tmp_path / "x.csv").read_text().startswith("target,status")
    done = hfinspect("scan", tmp_path / "list", "-o", tmp_path / "y.csv", "-f", "jsonl", "-q")
    assert done.code == 2
    refused = hfinspect("scan", tmp_path / "list", "-o", tmp_path / "x.json", "-q")
    assert refused.code == 2
    assert "a name that ends with .jsonl, or --format jsonl with this one" in refused.err


def test_no_list_of_formats_is_written_by_hand() -> None:
    """In help, errors and checks of the command line: they are those of the registry."""
    names = {
        name
        for known in (registry.PICTURED, registry.OF_FORMULAS, registry.OF_FINDINGS)
        for name in (*known, *registry.OF_ROWS)
    }
    two = re.compile(rf"\b({'|'.join(names)})(?:, | or )({'|'.join(names)})\b")
    assert two.search("table, json or csv")
    listed = [
        f"{path.name}:{node.lineno}: {node.value}"
        for path in sorted((ROOT / "hfinspect" / "cli").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if two.search(node.value)
    ]
    assert listed == []


def test_each_format_has_an_ending() -> None:
    """But for none: ``--output`` says every format."""
    known = {*registry.PICTURED, *registry.OF_FORMULAS, *registry.OF_FINDINGS, *registry.OF_ROWS}
    assert known - {"cyclonedx"} == {name for names in options.SUFFIXES.values() for name in names}


@pytest.mark.parametrize("format_", ["html", "sarif"])
def test_rules_are_written_in_some_formats(format_: str) -> None:
    done = hfinspect("audit", "--list", "--format", format_)
    assert done.code == 2
    assert "expected table, json, csv or markdown" in " ".join(done.err.split())
