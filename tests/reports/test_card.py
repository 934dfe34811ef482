"""The block of a model card, printed and put into a file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.errors import UsageError
from hfinspect.reports.card_block import BEGIN, END, PICTURE, replaced

from ..cli.program import ROOT, hfinspect

GPT2 = ROOT / "fixtures" / "models" / "gpt2"
BLOCK = f"{BEGIN}\n\nnew\n\n{END}"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "my-model"
    folder.mkdir()
    shutil.copy(GPT2 / "config.json", folder)
    return folder


def test_the_block_has_the_answer_and_nothing_of_this_machine() -> None:
    done = hfinspect(GPT2, "--format", "card")
    assert done.code == 0
    assert done.out.startswith(BEGIN) and done.out.endswith(END + "\n")
    assert "| total | 124,439,808 | 100.0% |" in done.out
    assert f"]({PICTURE})" in done.out
    assert str(ROOT) not in done.out and "fixtures" not in done.out


def test_an_update_is_made_once(model: Path) -> None:
    card = model / "README.md"
    card.write_text("---\nlicense: mit\n---\n# Mine\n")
    assert hfinspect(model, "--update", card).code == 0
    first = card.read_text()
    assert first.startswith("---\nlicense: mit\n---\n# Mine\n\n" + BEGIN)
    picture = model / PICTURE
    assert picture.read_text().startswith("<svg") and ">my-model<" in picture.read_text()
    times = [path.stat().st_mtime_ns for path in (card, picture)]
    assert hfinspect(model, "--update", card).code == 0
    assert [path.stat().st_mtime_ns for path in (card, picture)] == times
    assert card.read_text() == first


def test_an_old_block_is_replaced_in_place() -> None:
    old = f"# A\n\n<!-- hfinspect: begin of another version -->\nold\n{END}\n\nafter\n"
    assert replaced(old, BLOCK, "x") == f"# A\n\n{BLOCK}\n\nafter\n"


def test_comments_inside_code_are_text() -> None:
    card = f"# A\n\n~~~md\n{BEGIN}\n~~~\n````\n```\n{END}\n````\n"
    assert replaced(card, BLOCK, "x") == f"{card}\n{BLOCK}\n"


def test_code_that_does_not_end_is_refused() -> None:
    with pytest.raises(UsageError, match="begins in line 2"):
        replaced("# A\n```\n", BLOCK, "x")


@pytest.mark.parametrize(
    "card", [f"{BEGIN}\n", f"{END}\n", f"{END}\n{BEGIN}\n", f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n"]
)
def test_comments_that_are_no_pair_are_refused(card: str) -> None:
    with pytest.raises(UsageError, match="comments that begin"):
        replaced(card, BLOCK, "x")


_LINES = st.sampled_from(["text", "", "```", "~~~", "````py", BEGIN, END, "# title", " " + BEGIN])


@given(st.lists(_LINES, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_twice_is_once_and_all_else_stays(lines: list[str], newline: str, ends: bool) -> None:
    card = newline.join(lines) + (newline if ends and lines else "")
    try:
        once = replaced(card, BLOCK, "x")
    except UsageError:
        return
    assert replaced(once, BLOCK, "x") == once
    if "<!--" not in card:  # else what was between two comments is replaced
        assert once.startswith(card)


def test_what_contradicts_is_refused(model: Path) -> None:
    card = model / "README.md"
    assert hfinspect(model, "--update", card).code == 3  # there is none
    card.write_bytes(b"\xff\xfe")
    assert hfinspect(model, "--update", card).code == 3
    assert hfinspect(model, "--update", card, "--format", "json").code == 2
    assert hfinspect(model, "--update", card, "--output", model / "x.json").code == 2
    assert hfinspect(model, model, "--update", card).code == 2
    assert card.read_bytes() == b"\xff\xfe"


def test_line_ends_stay(model: Path) -> None:
    card = model / "README.md"
    card.write_bytes(b"# A\r\n")
    assert hfinspect(model, "--update", card).code == 0
    assert card.read_bytes().count(b"\n") == card.read_bytes().count(b"\r\n") > 10
