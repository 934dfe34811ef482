"""docs/adding-a-model.md, followed as it stands: in a process of its own, so that the catalog of
this one stays as it is."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from . import regenerate
from .cli.program import ROOT
from .oracle.__main__ import SUBJECTS

TEXT = (ROOT / "docs" / "adding-a-model.md").read_text(encoding="utf-8")
CODE = re.findall(r"```py\n(.*?)```", TEXT, re.DOTALL)
#: Path -> content of the case files shown.
CASES = dict(re.findall(r"```json\n(fixtures/oracle/cases/\w+\.json)\n(.*?)```", TEXT, re.DOTALL))

#: A file of the package becomes a module, anything else runs as it is.
RUN = r"""
import json, re, sys, types
import hfinspect
blocks, cases = json.load(sys.stdin)
for code in blocks:
    named = re.match(r"# hfinspect/architectures/(\w+)\.py\n", code)
    room = "hfinspect.architectures"
    name = f"{room}.{named[1]}" if named else "example"
    module = types.ModuleType(name)
    module.__package__ = room if named else None
    exec(compile(code, name, "exec"), vars(module))
for entry in cases:
    for case in entry["cases"]:
        config = {**entry["tiny"], **case.get("config", {}), "model_type": entry["model_type"]}
        found = hfinspect.predict({**config, "architectures": [case["architecture"]]})
        print(found.family.file, found.tensors[0].name, found.parameters)
"""


def test_the_shown_families_register_and_predict_the_shown_counts() -> None:
    cases = [json.loads(content) for content in CASES.values()]
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps([CODE, cases]),
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == sum(len(entry["cases"]) for entry in cases)
    # Each case builds another model: a case that changes nothing tests nothing.
    assert len(set(lines)) == len(lines)


def test_one_command_records_everything_that_is_recorded_by_family() -> None:
    """The modules of tests.oracle that take names of families."""
    taking = {
        path.stem
        for path in (ROOT / "tests" / "oracle").glob("record*.py")
        if '"families"' in path.read_text(encoding="utf-8")
    }
    module_of = {command.name: command.module for command in SUBJECTS}
    assert taking == {module_of[name] for name in regenerate.RECORDERS}


def test_three_families_and_two_case_files_are_shown() -> None:
    files = re.findall(r"^# (hfinspect/architectures/\w+\.py)$", "\n".join(CODE), re.MULTILINE)
    assert len(files) == 3
    assert [path for path in files if (ROOT / path).exists()] == []
    assert len(CASES) == 2
