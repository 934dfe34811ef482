"""Every file that runs code is an error; no file that libraries really save is one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import hfinspect
from hfinspect.errors import NothingToInspectError

from .benign import benign_files
from .disguised import every_sample
from .evil import Sample
from .gadgets import allowed, later

SAMPLES = every_sample()
#: Where the audit says that a file runs code, or might for all that is known.
JUDGED = {
    "HI401",
    "HI403",
    "HI405",
    "HI414",
    "HI415",
    "HI416",
    "HI417",
    "HI419",
    "HI420",
    "HI421",
    "HI423",
}


def test_there_are_enough_of_each() -> None:
    assert len(SAMPLES) >= 200
    assert len({(sample.category, sample.title) for sample in SAMPLES}) == len(SAMPLES)
    assert min(Counter(sample.category for sample in SAMPLES).values()) >= 5
    assert len(benign_files()) >= 150


@pytest.mark.parametrize("category", sorted({sample.category for sample in SAMPLES}))
def test_attack_whatever_runs_code_is_an_error(category: str, tmp_path: Path) -> None:
    missed = [s.title for s in SAMPLES if s.category == category and not _errors(s, tmp_path)]
    assert missed == []


def _errors(sample: Sample, folder: Path) -> set[str]:
    path = folder / sample.file
    path.write_bytes(sample.data)
    audit_result = hfinspect.audit(str(folder))
    path.unlink()
    assert not (folder / "canary").exists()
    return {item.code for item in audit_result.findings if item.severity == "error"} & JUDGED


@pytest.mark.parametrize("sample", list(allowed()), ids=lambda sample: str(sample.title))
def test_what_runs_where_the_user_allows_it_is_a_warning(sample: Sample, tmp_path: Path) -> None:
    (tmp_path / sample.file).parent.mkdir(exist_ok=True)
    (tmp_path / sample.file).write_bytes(sample.data)
    findings = hfinspect.audit(str(tmp_path)).findings
    codes = {f.code for f in findings if f.severity == "warning"}
    assert codes & {"HI404", "HI406", "HI416", "HI418"}


@pytest.mark.parametrize("sample", list(later()), ids=lambda sample: str(sample.title))
def test_attack_added_to_the_samples(sample: Sample, tmp_path: Path) -> None:
    assert _errors(sample, tmp_path)


@pytest.mark.parametrize("library", sorted({name.split("/")[0] for name in benign_files()}))
def test_no_file_that_a_library_saves_is_an_error(library: str, tmp_path: Path) -> None:
    alarms = []
    for name, content in benign_files().items():
        if not name.startswith(f"{library}/"):
            continue
        path = tmp_path / Path(name).name
        path.write_bytes(content)
        try:
            audit_result = hfinspect.audit(str(tmp_path))
        except NothingToInspectError:
            continue  # numbers alone, in NumPy's format
        finally:
            path.unlink()
        alarms += [
            (name, item.code, item.text)
            for item in audit_result.findings
            if item.severity == "error"
        ]
    assert alarms == []
