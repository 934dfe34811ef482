"""Each case has its right answer in every verb, whatever its folder is called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hfinspect
from hfinspect.errors import HfinspectError

from ..cli.program import hfinspect as program
from .judged_cases import CASES, Case, unpacked


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path)
def test_every_verb_has_the_right_answer(case: Case, tmp_path: Path) -> None:
    folder = unpacked(tmp_path, case.path)
    result = hfinspect.audit(folder)
    assert bool(result.failing()) is case.errors, result.findings
    if case.whole == "error":
        assert result.whole is False
        with pytest.raises(HfinspectError) as caught:
            hfinspect.inspect(folder)
        assert all(words in str(caught.value) for words in case.words)
        for verb in ("memory", "runs"):
            assert program(verb, folder, "--on", "80GB").code not in (0, 6)
        return
    inspection = hfinspect.inspect(folder)
    assert (inspection.whole, result.whole) == (case.whole, case.whole)
    first = inspection.problems[0] if inspection.problems else None
    assert (first.kind if first else "") == case.kind
    assert first is None or all(words in first.sentence for words in case.words)
    memory = program("memory", folder, "--on", "80GB", "--format", "json")
    engines = program("runs", folder, "--format", "json")
    for done in (memory, engines):
        document = json.loads(done.out)
        assert document["whole"] is case.whole
        assert [one["kind"] for one in document["problems"]][:1] == ([case.kind] if first else [])
    if case.whole is False:
        assert json.loads(memory.out)["fits"] is None
        assert memory.code == 6
        assert engines.code == 1
        _is_said_first(folder)


def _is_said_first(folder: Path) -> None:
    """Within the first lines of each screen, before any number of the model."""
    lines = {"inspect": 4, "memory": 3, "runs": 3, "audit": 12}
    for verb, most in lines.items():
        shown = program(verb, folder, env={"COLUMNS": "120"}).out.splitlines()[:most]
        assert any(line.startswith("not whole: ") for line in shown), verb


def test_a_wrapped_model_is_its_clean_twin(tmp_path: Path) -> None:
    """Names of a wrapper do not count in a comparison."""
    wrapped = unpacked(tmp_path / "a", "c03_orig_mod_model")
    config = json.loads((wrapped / "config.json").read_text())
    comparison = hfinspect.compare(wrapped, config)
    assert comparison.same_structure
    assert comparison.whole is False
