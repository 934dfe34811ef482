"""What a new user trips over: misspelt commands, examples that are not there."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import hfinspect as package
from hfinspect.cli.fast_path import COMMANDS

from .program import hfinspect


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("explian", "explain"),
        ("Explain", "explain"),
        ("tensor", "tensors"),
        ("scna", "scan"),
        ("compair", "compare"),
        ("achitectures", "architectures"),
        ("inspcet", "inspect"),
    ],
)
def test_a_misspelt_command_is_no_repo(typed: str, meant: str) -> None:
    for rest in ((), ("fixtures/models/gpt2",)):
        done = hfinspect(typed, *rest)
        assert done.code == 2
        assert f"{typed}: is neither a command nor a local path" in done.err
        assert f"did you mean hfinspect {meant}?" in done.err


def test_a_scan_of_one_model_says_what_a_list_is(tmp_path: Path) -> None:
    done = hfinspect("scan", "org/model", cwd=tmp_path)
    assert done.code == 3
    assert "give a file with one model per line" in done.err


def test_a_path_of_such_a_name_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "explian").mkdir()
    (tmp_path / "explian" / "config.json").write_text('{"model_type": "gpt2"}')
    assert hfinspect("explian", cwd=tmp_path).code == 0


def test_help_has_examples_for_who_has_no_clone() -> None:
    for command in COMMANDS:
        out = hfinspect(command, "--help").out
        assert "Example: hfinspect" in out
        assert "fixtures" not in out
    assert "fixtures" not in hfinspect("--help").out
    assert "fixtures" not in (package.__doc__ or "")
    assert doctest.testmod(package).failed == 0


def test_the_documents_say_when_hf_inspect_works() -> None:
    answers = (Path(__file__).resolve().parents[2] / "docs" / "faq.md").read_text()
    assert "hf extensions install OWNER/hf-inspect" in answers
