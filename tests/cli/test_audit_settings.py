"""Baselines, [tool.hfinspect] of pyproject.toml, bills of materials and pages of rules."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.auditing.facts.card import MAX_VALUE, read_card

from .. import rule_pages
from ..auditing.damage import cut
from ..auditing.sound import made, write
from ..schemas import conforms
from .program import hfinspect


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoints" / "broken"
    files = made("sharded")
    cut(files, "model-00002-of-00004.safetensors", -10)
    return write(files, folder)


def test_findings_of_a_baseline_are_not_listed_again(broken: Path, tmp_path: Path) -> None:
    report = tmp_path / "baseline.json"
    first = hfinspect("audit", broken, "-f", "json", "-o", report)
    assert first.code == 1
    count = sum(json.loads(report.read_text())["results"][0]["counts"].values())
    again = hfinspect("audit", broken, "--baseline", report)
    assert again.code == 0
    assert f"{count} of the baseline, not listed" in " ".join(again.out.split())
    (broken / "pytorch_model.bin").write_bytes(b"")
    later = hfinspect("audit", broken, "--baseline", report, "-f", "json")
    assert later.code == 1
    document = json.loads(later.out)
    conforms(document, "audit")
    assert {finding["file"] for finding in document["results"][0]["findings"]} == {
        "pytorch_model.bin"
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "no list of results"),
        ('{"results": [{"findings": [{}]}]}', "has no code"),
        (None, "cannot be read"),
    ],
)
def test_a_baseline_that_is_none(text: str | None, said: str, broken: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    if text is not None:
        report.write_text(text)
    done = hfinspect("audit", broken, "--baseline", report)
    assert done.code == 2
    assert said in " ".join(done.err.split())


def test_a_project_selects_ignores_and_sets_the_threshold(broken: Path, tmp_path: Path) -> None:
    target = broken.relative_to(tmp_path).as_posix()
    findings = json.loads(hfinspect("audit", target, "-f", "json", cwd=tmp_path).out)["results"][0][
        "findings"
    ]
    codes = sorted({finding["code"] for finding in findings})
    project = tmp_path / "pyproject.toml"
    project.write_text(f"[tool.hfinspect]\nignore = {json.dumps(codes)}\n")
    assert hfinspect("audit", target, cwd=tmp_path).code == 0
    project.write_text(f'[tool.hfinspect.per-path]\n"checkpoints/*" = {json.dumps(codes)}\n')
    assert hfinspect("audit", target, cwd=tmp_path).code == 0
    project.write_text('[tool.hfinspect]\nfail-on = "never"\n')
    assert hfinspect("audit", target, cwd=tmp_path).code == 0
    assert hfinspect("audit", target, "--fail-on", "error", cwd=tmp_path).code == 1
    project.write_text("[tool.other]\n")
    assert hfinspect("audit", target, cwd=tmp_path).code == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.hfinspect]\nignored = []\n", "tool.hfinspect.ignored: is unknown"),
        ("[tool.hfinspect]\nignore = 5\n", "is not a list of codes"),
        ('[tool.hfinspect]\nignore = ["XX9"]\n', "XX9"),
        ('[tool.hfinspect]\nfail-on = "always"\n', "--fail-on always"),
        ("[tool.hfinspect", "is not TOML"),
    ],
)
def test_a_projects_slips_are_named(text: str, said: str, broken: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    done = hfinspect("audit", broken, cwd=tmp_path)
    assert done.code == 2
    assert said in " ".join(done.err.split())


def test_a_checkpoint_does_not_say_how_it_is_audited(broken: Path) -> None:
    """Whoever made it may have put a pyproject.toml next to the weights."""
    (broken / "pyproject.toml").write_text('[tool.hfinspect]\nfail-on = "never"\n')
    done = hfinspect("audit", ".", cwd=broken)
    assert done.code == 1
    assert "is not read; --config pyproject.toml reads it" in " ".join(done.err.split())
    assert hfinspect("audit", ".", "--config", "pyproject.toml", cwd=broken).code == 0


def _bill(*arguments: Any) -> dict[str, Any]:
    text = hfinspect("audit", *arguments, "-f", "cyclonedx").out
    bill: dict[str, Any] = json.loads(text)
    assert hfinspect("audit", *arguments, "-f", "cyclonedx").out == text
    if importlib.util.find_spec("cyclonedx") is not None:
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator

        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    return bill


def test_a_bill_of_materials(broken: Path) -> None:
    """Files with the hashes that a deep audit computes, licence and base model of the card."""
    (broken / "README.md").write_text(
        "---\nlicense: apache-2.0\nbase_model:\n- org/base\n- 'org/other'\ntags:\n- x\n---\n"
    )
    bill = _bill(broken, "--deep")
    (model,) = bill["components"]
    assert bill["specVersion"] == "1.6"
    assert model["licenses"] == [{"license": {"id": "Apache-2.0"}}]
    assert [one["name"] for one in model["pedigree"]["ancestors"]] == ["org/base", "org/other"]
    assert model["modelCard"]["modelParameters"]["architectureFamily"] == "llama"
    weights = next(f for f in model["components"] if f["name"].endswith(".safetensors"))
    assert {part["name"] for part in model["components"]} == {p.name for p in broken.iterdir()}
    assert int(weights["properties"][0]["value"]) == (broken / weights["name"]).stat().st_size
    assert any(note["text"].startswith("error HI") for note in bill["annotations"])


@pytest.mark.parametrize(
    ("head", "licence", "bases"),
    [
        ("---\nlicense: mit\n---", "mit", ()),
        ("---\nlicense: other\nlicense_name: llama3\nbase_model: a/b\n---", "llama3", ("a/b",)),
        (
            "---\nbase_model: [a/b, 'c/d']\nlicense:\n  - cc-by-4.0\n---",
            "cc-by-4.0",
            ("a/b", "c/d"),
        ),
        ("license: mit", "", ()),
        ("---\ntags:\n- license: mit\n---\nlicense: mit", "", ()),
    ],
)
def test_the_head_of_a_card(head: str, licence: str, bases: tuple[str, ...]) -> None:
    assert read_card(head.encode()) == (licence, bases)


@given(st.binary(max_size=400))
def test_any_bytes_are_a_card(data: bytes) -> None:
    card = read_card(b"---\nlicense: " + data)
    assert len(card.licence) <= MAX_VALUE


def test_each_rule_has_its_page() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in rule_pages.FOLDER.iterdir()}
    assert written == rule_pages.pages()


def test_sarif_names_the_pages(broken: Path) -> None:
    log = json.loads(hfinspect("audit", broken, "-f", "sarif").out)
    for rule in log["runs"][0]["tool"]["driver"]["rules"]:
        assert rule["helpUri"].endswith(f"/docs/rules/{rule['id']}.md")
        assert (rule_pages.FOLDER / f"{rule['id']}.md").is_file()
