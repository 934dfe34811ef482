"""docs/security.md says what the code does: each limit as it is, and each rule somewhere."""

from __future__ import annotations

import re
from importlib import import_module

from hfinspect.auditing.registry import rules

from ..cli.program import ROOT
from ..limits_table import limits


def test_each_limit_is_the_one_at_run_time() -> None:
    wrong = []
    for limit in limits():
        module = import_module("hfinspect." + limit.file.removesuffix(".py").replace("/", "."))
        if getattr(module, limit.name) != limit.value:
            wrong.append(limit)
    assert wrong == []
    assert [limit for limit in limits() if not limit.reason] == []
    assert len(limits()) > 90


def test_the_page_says_of_each_rule_what_it_sees_once() -> None:
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    section = text.split("## What each kind of rule")[1].split("## Limits")[0]
    firsts = [line.split("|")[1] for line in section.splitlines() if line.startswith("| HI")]
    said: list[str] = []
    for first in firsts:
        for begin, end in re.findall(r"HI(\d(?:\d\d|xx))(?: to HI(\d+))?", first):
            low = int(begin.replace("x", "0"))
            high = int(end or begin.replace("x", "9"))
            said += [code for code in rules() if low <= int(code[2:]) <= high]
    assert sorted(said) == sorted(rules())
