"""Damage of every documented kind, alone and in pairs, is caught by the rule that is meant for it;
sound checkpoints raise no alarm."""

from __future__ import annotations

import tempfile
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hfinspect
from hfinspect.auditing.registry import rules

from ..examples import examples
from .recipes import Recipe, audited, recipes
from .sound import BASES, made, write

BROKEN = recipes("broken")
SOUND = recipes("sound")
PAIRS = [(a, b) for a, b in combinations(BROKEN, 2) if a.goes_with(b)]


def codes(result: hfinspect.AuditResult) -> set[str]:
    return {finding.code for finding in result.findings}


def test_every_rule_has_a_broken_and_a_sound_fixture() -> None:
    # Of HI145 there is none: no file is known that the two parsers read otherwise.
    assert {recipe.code for recipe in BROKEN} == set(rules()) - {"HI145"}
    assert {recipe.code for recipe in SOUND} == set(rules())
    assert len(BROKEN) >= 40


@pytest.mark.parametrize("recipe", BROKEN, ids=str)
def test_damage_is_caught_by_its_rule(recipe: Recipe, tmp_path: Path) -> None:
    audit_result = audited(tmp_path, recipe)
    assert recipe.code in codes(audit_result)


@pytest.mark.parametrize("recipe", SOUND, ids=str)
def test_what_only_looks_like_damage_is_not(recipe: Recipe, tmp_path: Path) -> None:
    audit_result = audited(tmp_path, recipe)
    assert recipe.code not in codes(audit_result)
    assert audit_result.failing("error") == ()


@pytest.mark.parametrize("base", BASES)
def test_sound_checkpoints_are_clean(base: str, tmp_path: Path) -> None:
    audit_result = hfinspect.audit(write(made(base), tmp_path))
    assert audit_result.failing("error") == ()
    # The bases with pickles and with two copies are noted as such, and nothing else is said.
    assert codes(audit_result) <= {"torch": {"HI501"}, "copies": {"HI211"}}.get(base, set())


def test_there_are_many_pairs() -> None:
    assert len(PAIRS) > 500


@settings(max_examples=examples(60), derandomize=True)
@given(pair=st.sampled_from(PAIRS))
def test_pairs_of_damage_are_both_caught(pair: tuple[Recipe, Recipe]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        all_codes = codes(audited(Path(directory), *pair))
    assert {recipe.code for recipe in pair} <= all_codes


@settings(max_examples=examples(60), derandomize=True)
@given(base=st.sampled_from(sorted(BASES)), data=st.data())
def test_random_bytes_never_stop_an_audit(base: str, data: st.DataObject) -> None:
    files = made(base)
    for path in data.draw(st.lists(st.sampled_from(sorted(files)), min_size=1, max_size=3)):
        content = bytearray(files[path])
        at = data.draw(st.integers(0, max(0, min(len(content) - 1, 4000))))
        piece = data.draw(st.binary(min_size=1, max_size=6))
        content[at : at + len(piece)] = piece
        files[path] = bytes(content[: data.draw(st.sampled_from([None, at, len(content) // 2]))])
    with tempfile.TemporaryDirectory() as directory:
        audit_result = hfinspect.audit(write(files, Path(directory)), deep=True)
    assert audit_result.rules
