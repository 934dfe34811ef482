"""What an audit returns: findings with codes, and what was not checked and why.

``hfinspect/schemas/audit.schema.json`` describes ``AuditResult.to_dict()``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from .choices import SEVERITIES, Severity
from .display import Shown
from .inventory import Inventory
from .json_form import JsonDocument, JsonForm
from .records import dataclass
from .refs import Origin
from .tokenizer_facts import TokenizerFacts
from .wholeness import Problem


def at_least(severity: str, threshold: str) -> bool:
    """Whether ``severity`` is ``threshold`` or worse; nothing is as bad as ``never``."""
    return threshold != "never" and SEVERITIES.index(severity) >= SEVERITIES.index(threshold)


@dataclass(frozen=True)
class AuditFinding(JsonForm):
    """One thing that is wrong.

    Fields:
        code: such as ``HI203``
        rule: the rule's short name
        severity: ``note``, ``warning`` or ``error``
        text: what is wrong
        file: the file concerned, or None
        tensor: the tensor concerned, or the first of them, or None
        expected: what should be there
        count: how many things have this one cause
        names: of those that are more than one, the first thousand
    """

    code: str
    rule: str
    severity: Severity
    text: str
    file: str | None = None
    tensor: str | None = None
    expected: str | None = None
    count: int = 1
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unchecked(JsonForm):
    """Something that was not read, and why.

    Fields:
        what: what was not read
        why: the reason
    """

    what: str
    why: str


@dataclass(frozen=True, repr=False, kw_only=True)
class AuditResult(JsonDocument, Shown, without="inventory tokenizer", after={"counts": "tensors"}):
    """The result of an audit of one target.

    Fields:
        target: the model as it was named
        origin: what was read, and at which commit
        whole: as that of an inspection, of the target's own folder
        problems: as those of an inspection
        reference: the model to compare with; None without one
        deep: whether values were read
        files [files]: weight files whose headers were read
        tensors [tensors]: how many those headers describe
        known [findings]: number of findings in the baseline, which are not listed
        findings: findings, the most severe first
        unchecked: what the audit did not read
        rules: codes of the rules applied
        inventory: files, licence and base models, for a bill of materials; no part of the JSON
        tokenizer: that of the root, for a page; None without one; no part of the JSON
    """

    target: str
    origin: Origin
    whole: bool | None = None
    problems: tuple[Problem, ...] = ()
    reference: str | None = field(default=None)
    deep: bool = False
    files: int = 0
    tensors: int = 0
    known: int = 0
    findings: tuple[AuditFinding, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    rules: tuple[str, ...] = ()
    inventory: Inventory = field(default_factory=Inventory)
    tokenizer: TokenizerFacts | None = None

    def _in_a_line(self) -> str:
        severities = ", ".join(f"{count} {severity}s" for severity, count in self.counts.items())
        return f"{self.target}: {severities}, {self.files} files"

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of findings by severity, the worst first."""
        counts: dict[str, int] = dict.fromkeys(reversed(SEVERITIES), 0)
        for finding in self.findings:
            counts[finding.severity] += 1
        return counts

    def failing(self, threshold: str = "error") -> tuple[AuditFinding, ...]:
        """Findings of severity ``threshold`` or worse."""
        return tuple(f for f in self.findings if at_least(f.severity, threshold))

    @property
    def ok(self) -> bool:
        """Whether there is no finding of severity error."""
        return not self.failing()
