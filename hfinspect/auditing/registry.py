"""The rules by code. A rule is a function from facts to what it found, with a docstring in three
paragraphs: what it looks for, ``Why:`` it matters, ``Fix:`` what to do.

A new rule is one function in a file of ``rules/`` (or a ``Wording`` for ``rules_alike``), and its
pair of fixtures.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ..core.choices import SEVERITIES, Severity
from ..core.json_form import JsonForm
from ..core.records import dataclass
from ..errors import UsageError

if TYPE_CHECKING:
    from .facts.target import TargetFacts

#: Groups of rules, as the table shows them.
GROUPS: Mapping[str, str] = {
    "HI1": "one file against its format",
    "HI2": "the index against the files",
    "HI3": "the checkpoint against its config",
    "HI4": "safety",
    "HI5": "habits",
}


class RuleFinding(NamedTuple):
    """What a rule returns for each thing it finds; ``severity`` only where it is not the rule's,
    ``number`` and ``names`` of things that have one cause."""

    text: str
    file: str | None = None
    tensor: str | None = None
    expected: str | None = None
    severity: str | None = None
    number: int = 1
    names: tuple[str, ...] = ()


RuleCheck = Callable[["TargetFacts"], Iterable[RuleFinding]]


@dataclass(frozen=True)
class Rule(JsonForm, without="check", names={"name": "rule"}, after={"deep": "severity"}):
    """One rule.

    Fields:
        code: such as ``HI203``
        name: its short name
        severity: ``note``, ``warning`` or ``error``, where a finding says no other
        what: what it looks for
        why: why that matters
        fix: how to correct it
        check: finds it; no part of the JSON
        deep: whether it needs the values and runs with ``--deep`` only
    """

    code: str
    name: str
    severity: Severity
    what: str
    why: str
    fix: str
    check: RuleCheck
    deep: bool = False


class Wording(NamedTuple):
    """A rule without its check; the fields are those of ``Rule``."""

    code: str
    name: str
    severity: Severity
    what: str
    why: str
    fix: str


_RULES: dict[str, Rule] = {}


def rule(
    code: str, name: str, severity: Severity, *, deep: bool = False
) -> Callable[[RuleCheck], RuleCheck]:
    """Register a rule under its code."""

    def register(check: RuleCheck) -> RuleCheck:
        sections = _sections(code, inspect.getdoc(check) or "")
        _register(Wording(code, name, severity, *sections), check, deep)
        return check

    return register


def rules_alike(wordings: Iterable[Wording], check_of: Callable[[str, str], RuleCheck]) -> None:
    """Register rules that differ in nothing but their texts; ``check_of(code, name)`` is the check
    of one."""
    for wording in wordings:
        _register(wording, check_of(wording.code, wording.name))


def _register(wording: Wording, check: RuleCheck, deep: bool = False) -> None:
    code = wording.code
    severity = wording.severity
    assert code not in _RULES, f"{code} is there twice"
    assert code[:3] in GROUPS, f"{code} belongs to no group"
    assert severity in SEVERITIES, f"{code}: {severity} is not a severity"
    _RULES[code] = Rule(*wording, check, deep)


def _sections(code: str, text: str) -> tuple[str, str, str]:
    sections = re.split(r"\n+(?=(?:Why|Fix): )", text)
    is_whole = len(sections) == 3 and not any("\n\n" in section for section in sections)
    assert is_whole, f"{code}: what, Why: and Fix: are wanted"
    what, why, fix = (" ".join(section.split()) for section in sections)
    assert (why[:5], fix[:5]) == ("Why: ", "Fix: "), code
    return what, _sentence(why[5:]), _sentence(fix[5:])


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def rules() -> Mapping[str, Rule]:
    """All rules by code, in order."""
    package = importlib.import_module(f"{__package__}.rules")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_RULES.items()))


def get_rule(code: str) -> Rule:
    """The rule of a code (any case). Raises UsageError."""
    rule = rules().get(code.strip().upper())
    if rule is None:
        raise UsageError(f"rule {code}", "is unknown", expected="a code such as HI201")
    return rule


def chosen(
    select: Sequence[str] = (), ignore: Sequence[str] = (), *, deep: bool = False
) -> tuple[Rule, ...]:
    """Rules whose code begins with one of ``select`` (all, if none) and with none of ``ignore``;
    the longer prefix wins where both match. Raises UsageError for a prefix of no rule."""
    chosen = _prefixes(select)
    unwanted = _prefixes(ignore)
    rules_chosen = []
    for code, item in rules().items():
        best = _longest(code, chosen) if chosen else 0
        worst = _longest(code, unwanted)
        if best is None or (worst is not None and worst >= best):
            continue
        if deep or not item.deep:
            rules_chosen.append(item)
    return tuple(rules_chosen)


def _prefixes(texts: Sequence[str]) -> tuple[str, ...]:
    prefixes = []
    for text in texts:
        for part in text.split(","):
            prefix = part.strip().upper()
            if not any(code.startswith(prefix) for code in rules()) or not prefix:
                raise UsageError(f"rule {part!r}", "is unknown", expected="a code or its beginning")
            prefixes.append(prefix)
    return tuple(prefixes)


def _longest(code: str, prefixes: tuple[str, ...]) -> int | None:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=None)
