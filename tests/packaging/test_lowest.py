"""The lowest versions that are tested are those that pyproject.toml promises."""

from __future__ import annotations

import re

from ..cli.program import ROOT
from .test_declared import PROJECT


def test_the_tested_versions_are_the_promised_ones() -> None:
    lines = (ROOT / ".github" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    for requirement in PROJECT["dependencies"]:
        name, version = requirement.partition(";")[0].split(">=")
        if name != "safetensors":  # tests compare with its newest formats
            assert re.fullmatch(rf"{re.escape(version)}(\.0)*", tested[name]), name
