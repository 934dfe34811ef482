"""The shipped schemas state the version that the results state, and what commands write is as they
say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hfinspect.cli.fast_path import COMMANDS
from hfinspect.core.json_form import SCHEMA_VERSION

from ..cli.program import ROOT, hfinspect
from ..schemas import FOLDER, conforms

SCHEMAS = sorted(FOLDER.glob("*.schema.json"))

GPT2 = "fixtures/models/gpt2"
GPT = "fixtures/models/openai-gpt"
GGUF = "fixtures/checkpoints/gguf-v3"
#: Schema -> a command whose JSON is as it says; ``{}`` is a file that the test has made.
WRITTEN = {
    "architectures": ["architectures", "qwen"],
    "audit": ["audit", GGUF],
    "cache": ["explain", GPT2, "--cache"],
    "cards": ["memory", "--on", "list"],
    "comparison": ["compare", GPT2, GPT],
    "error": ["inspect", GPT2, "--revision", "v1"],
    "explanation": ["explain", GPT2],
    "inspection": ["inspect", GGUF],
    "kept-headers": ["cache", "info"],
    "memories": ["memory", GPT2, GPT],
    "memory": ["memory", GGUF, "--on", "24GB"],
    "recipes": ["memory", GPT2, "--quantize", "all"],
    "report": ["report", "{}"],
    "rule": ["audit", "--explain", "HI203"],
    "rules": ["audit", "--list"],
    "runs": ["runs", GPT2],
    "scan-row": ["scan", "{}"],
    "tokenizer": ["tokenizer", GGUF],
    "tree": ["tree", GPT2],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_a_command_writes_is_as_its_schema_says(name: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(f"{GPT2}\n")
    if name == "report":
        file.write_text(hfinspect("scan", "fixtures/models", "--recursive", "-f", "jsonl").out)
    command = [word.format(file) for word in WRITTEN[name]]
    answer = hfinspect(*command, "-f", "jsonl" if name == "scan-row" else "json")
    conforms(json.loads(answer.out), name)
    assert (name == "error") == (answer.code == 2), answer.err


def test_every_command_and_every_schema_is_tried() -> None:
    """``tensors`` writes an inspection, ``serve`` pages."""
    assert {f"{name}.schema.json" for name in WRITTEN} == {path.name for path in SCHEMAS}
    assert {words[0] for words in WRITTEN.values()} == set(COMMANDS) - {"tensors", "serve"}


def _consts(schema: object) -> Iterator[str]:
    """Every version that a schema fixes, at any depth."""
    if isinstance(schema, dict):
        version = schema.get("schema_version")
        if isinstance(version, dict) and "const" in version:
            yield version["const"]
        for value in schema.values():
            yield from _consts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _consts(value)


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_every_schema_states_the_one_version(path: Path) -> None:
    schema = json.loads(path.read_text())
    assert schema["title"].endswith(f", version {SCHEMA_VERSION}")
    assert set(_consts(schema)) <= {SCHEMA_VERSION}


def test_what_states_no_version_is_named_in_the_documentation() -> None:
    """Of the others each object states it first, and no document is a bare list."""
    silent = set()
    for path in SCHEMAS:
        schema = json.loads(path.read_text())
        assert schema["type"] == "object", path.name
        if next(iter(schema["properties"])) != "schema_version":
            silent.add(path.name.removesuffix(".schema.json"))
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    told = page.partition("state no version")[2].partition("\n\n")[0]
    assert silent == set(re.findall("`([a-z-]+)`", told))


def test_the_version_was_raised_once() -> None:
    assert SCHEMA_VERSION == "2.0"
    assert len(SCHEMAS) == 19
