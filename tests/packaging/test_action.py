"""The steps of the GitHub Action, run with an environment like that of a job."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ..cli.program import ROOT

pytestmark = pytest.mark.posix
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
SOUND = ROOT / "fixtures" / "models" / "gpt2"


class Done(NamedTuple):
    outputs: dict[str, str]
    summary: str
    sarif: dict[str, object] | None


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program as one file, as it is once installed."""
    path = tmp_path / "hfinspect"
    path.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m hfinspect "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    folder = tmp_path / "broken model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "gpt2"}')
    (folder / "model.safetensors").write_bytes(b"\xff" * 64)
    return folder


def audit(program: Path, targets: str, **inputs: str) -> Done:
    folder = program.parent
    files = {name: folder / name for name in ("output", "summary")}
    sarif = folder / "found.sarif"
    env = {
        **os.environ,
        "HFINSPECT": str(program),
        "TARGETS": targets,
        "SARIF": str(sarif),
        "GITHUB_OUTPUT": str(files["output"]),
        "GITHUB_STEP_SUMMARY": str(files["summary"]),
        "RUNNER_TEMP": str(folder),
        "HF_TOKEN": "",
        **inputs,
    }
    script = ROOT / ".github" / "action" / "audit.sh"
    done = subprocess.run(["bash", script], env=env, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = files["output"].read_text().splitlines()
    return Done(
        dict(line.split("=", 1) for line in lines),
        files["summary"].read_text(),
        json.loads(sarif.read_text()) if sarif.exists() else None,
    )


def test_findings_fail_the_job_and_are_reported(program: Path, broken: Path) -> None:
    (program.parent / "plain").symlink_to(broken)
    done = audit(program, f"plain {SOUND}", FAIL_ON="error", SELECT="HI1, HI2")
    assert done.outputs["exit-code"] == "1"
    assert "HI1" in done.summary and done.summary.startswith("## hfinspect audit")
    assert done.sarif is not None
    runs = done.sarif["runs"]
    assert isinstance(runs, list)
    codes = {result["ruleId"][:3] for run in runs for result in run["results"]}
    assert codes == {"HI1"}
    assert done.outputs["sarif"].endswith("found.sarif")


def test_never_only_reports(program: Path, broken: Path) -> None:
    (program.parent / "plain").symlink_to(broken)
    assert audit(program, "plain", FAIL_ON="never").outputs["exit-code"] == "0"


def test_what_cannot_be_read_fails_always(program: Path) -> None:
    done = audit(program, "./nowhere", FAIL_ON="never")
    assert done.outputs["exit-code"] == "3"
    assert "sarif" not in done.outputs


def test_scripts_are_named_and_all_inputs_are_used() -> None:
    scripts = re.findall(r"GITHUB_ACTION_PATH/(\S+?)\"", ACTION)
    assert all((ROOT / script).is_file() for script in scripts)
    inputs = ACTION.split("inputs:\n")[1].split("\noutputs:")[0]
    for name in re.findall(r"^  ([a-z-]+):$", inputs, re.MULTILINE):
        assert f"inputs.{name} " in ACTION, name
    # What strangers may say reaches the shell by the environment alone.
    steps = ACTION.split("runs:\n")[1]
    assert not re.search(r"run: .*\$\{\{", steps)
