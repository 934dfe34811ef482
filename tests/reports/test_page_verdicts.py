"""Pages of audits and comparisons: the verdict first, a heading for each target, no path."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hfinspect import compare
from hfinspect.core.refs import Origin
from hfinspect.reports import comparison
from hfinspect.reports.page_names import page_names

from ..auditing.sound import made, write
from ..cli.program import ROOT
from ..cli.program import hfinspect as program

MODELS = ROOT / "fixtures" / "models"


@pytest.fixture
def targets(tmp_path: Path) -> list[Path]:
    """A sound model, and one without a model card and with a cut file."""
    files = made("single")
    sound = write(files, tmp_path / "sound")
    broken = dict(files)
    del broken["README.md"]
    weights = next(name for name in broken if name.endswith(".safetensors"))
    broken[weights] = broken[weights][:-10]
    return [sound, write(broken, tmp_path / "broken")]


def text_of(page: str) -> str:
    return re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)


def test_an_audit_of_several_targets(targets: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "audit.html"
    assert program("audit", *targets, "-o", output).code == 1
    page = text_of(output.read_text(encoding="utf-8"))
    assert "<h1>Audit of 2 targets</h1>" in page
    assert '<p class="sum">1 of 2 targets with errors</p>' in page
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings[0] == "All targets"
    assert headings[1].startswith("sound: no findings")
    assert re.fullmatch(r"broken: \d errors?, \d notes?", headings[2])
    assert headings[3] == "How to fix it"
    assert str(tmp_path) not in page
    pairs = re.findall(r"<tr>(<th.*?)</tr></thead>\n<tbody>(.*?)</tbody>", page, re.DOTALL)
    for head, body in pairs:
        names = re.findall(r"<th[^>]*>([^<]*)", head)
        assert ("code" in names) is ("rule" in names)
        cells = [cell.strip() for cell in re.split(r"<td[^>]*>", body)[1:]]
        assert all(any(cells[at :: len(names)]) for at in range(len(names))), names


def test_an_audit_of_one_target(targets: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "audit.html"
    assert program("audit", targets[1], "-o", output).code == 1
    page = text_of(output.read_text(encoding="utf-8"))
    assert "<h1>broken</h1>" in page
    assert re.search(r'<p class="sum">\d errors?, \d notes?</p>', page)
    assert page.index('class="sum"') < page.index("Findings")


def test_a_comparison_says_its_verdict_first(tmp_path: Path) -> None:
    output = tmp_path / "compare.html"
    names = ("gpt2", "openai-gpt", "gpt2")
    assert program("compare", *(MODELS / name for name in names), "-o", output).code == 1
    page = text_of(output.read_text(encoding="utf-8"))
    assert "<h1>gpt2 and openai-gpt and gpt2</h1>" in page
    told = "openai-gpt: different in structure; gpt2: identical in structure"
    assert f'<p class="sum">{told}</p>' in page
    assert re.findall(r"<h2>(.*?)</h2>", page)[:2] == [
        "gpt2 and openai-gpt: different in structure",
        "gpt2 and gpt2: identical in structure",
    ]
    assert str(ROOT) not in page


def test_names_that_were_given_stay() -> None:
    result = compare(MODELS / "gpt2", MODELS / "openai-gpt", names=["base", "mine"])
    assert comparison.lay_out(result, drawn=True).title == "base and mine"


def test_folders_of_one_name_are_told_apart() -> None:
    def model(path: str) -> tuple[str, Origin]:
        return path, Origin("directory", path, path=path)

    assert page_names([model("/a/x/model"), model("/a/y/model")]) == ["x/model", "y/model"]
    assert page_names([model("/a/model"), model("/b/other")]) == ["model", "other"]
    assert page_names([("org/name", Origin("hub", "org/name", "org/name"))]) == ["org/name"]
    assert page_names([("/a/nowhere", None), ("org/name@main", None)]) == [
        "nowhere",
        "org/name@main",
    ]
