"""Whether every command says of a family's configs what it said, once traces stand in its place.

Tensors that are the same do not say so: a trace may count as the written family does and lack a
layer's kind, what it keeps between tokens, or a word. So the package is copied, the traces are put
into the copy, and the judge of sameness asks both of every recorded config that names the family.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from .. import catalog_index
from ..sameness.asking import Judge, room
from ..sameness.differences import grouped, shortened
from ..sameness.packages import Package, checked_out
from ..sameness.questions import QUESTIONS, Question
from ..sameness.subjects import naming

#: Lines that are shown of a difference.
_LINES = 12
#: Configs that are asked about at once.
_JOBS = 2
#: At the end of a family's file: others may import from it, but it registers nothing.
_NOT_REGISTERED = """

from hfinspect.trees import catalog as _catalog

for _table in (_catalog._BY_TYPE, _catalog._BY_CLASS):
    for _name in [name for name, family in _table.items() if family.file == {file!r}]:
        del _table[_name]
"""


def with_traces(file: str, traces: Mapping[str, Mapping[str, Any]], place: Path) -> Package:
    """A copy of this package in which traces stand for a family's file. ``traces``: the name of
    each one's file -> what it holds."""
    copied = place / "hfinspect"
    shutil.copytree(
        checked_out().folder / "hfinspect", copied, ignore=shutil.ignore_patterns("__pycache__")
    )
    families = copied / "architectures"
    for name, trace in traces.items():
        (families / "traced" / f"{name}.json").write_text(json.dumps(trace), encoding="utf-8")
    with (families / f"{file}.py").open("a", encoding="utf-8") as written:
        written.write(_NOT_REGISTERED.format(file=file))
    script = f"import runpy; runpy.run_path({catalog_index.__file__!r}, run_name='__main__')"
    passed = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, "-c", script], cwd=place, env=passed, check=True)
    return Package(f"{file} as a trace", place)


def differing_answers(
    file: str,
    traces: Mapping[str, Mapping[str, Any]],
    names: Set[str],
    questions: Sequence[Question] = QUESTIONS,
) -> Iterator[str]:
    """What commands say otherwise of the configs that name these types or classes: the question,
    of how many configs, one of them, and the lines that went and came. Nothing where all is as it
    was."""
    with tempfile.TemporaryDirectory(prefix="hfinspect-traces-") as place:
        judge = Judge(checked_out(), with_traces(file, traces, Path(place)), questions, room())
        for group in grouped(judge.compared(naming(names), _JOBS)):
            yield "\n    ".join(
                [
                    f"{group.question}: {len(group.subjects)} x {group.example}",
                    *shortened(group.diff, _LINES),
                ]
            )
