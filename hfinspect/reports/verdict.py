"""The layout of audits: one line a finding, a summary, and what was not checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..core.choices import SEVERITIES
from ..core.json_form import JsonDocument, JsonForm
from ..core.records import dataclass
from ..core.results import Failure
from ..core.text import clean, more_are
from ..core.verdicts import AuditFinding, AuditResult
from .document import Block, Column, Document, Facts, Paragraph, Preformatted, Table
from .drawings import Chapter
from .folded import folded_names
from .judgement import judgement, remarks
from .page_names import page_names

if TYPE_CHECKING:
    from ..auditing.registry import Rule

#: Lines of names below a finding; all of them are in the JSON form.
MAX_NAMES = 5
#: Rules named in the sum over several targets.
MAX_CODES = 10

_COLUMNS = (
    Column("target", "target"),
    Column("code", "code"),
    Column("severity", "severity"),
    Column("rule", "rule"),
    Column("file", "file"),
    Column("tensor", "tensor"),
    Column("found", "found"),
    Column("expected", "expected"),
)

_NAMED = {column.name: column for column in _COLUMNS}


def lay_out_page(results: Sequence[AuditResult | Failure]) -> Document:
    """The verdict, all targets together, then each under its name, then how to fix what was
    found."""
    names = page_names([(r.target, getattr(r, "origin", None)) for r in results])
    verdicts = [_in_a_word(result) for result in results]
    if len(results) == 1:
        blocks = (*_of_page(results[0], names[0]), *_fixes(results))
        return Document(names[0], blocks, _table(results), verdicts[0])
    chapters = [Chapter("all", "All targets", tuple(_sum(results)[1:]))]
    chapters += [
        Chapter(f"target-{at}", f"{name}: {verdict}", _of_page(result, name))
        for at, (name, verdict, result) in enumerate(zip(names, verdicts, results, strict=True))
    ]
    fixes = _fixes(results)
    chapters += [Chapter("fixes", "How to fix it", (replace(fixes[0], title=""),))] if fixes else []
    return Document(
        f"Audit of {len(results):,} targets", tuple(chapters), _table(results), _of_all(results)
    )


def _of_page(result: AuditResult | Failure, name: str) -> tuple[Block, ...]:
    if isinstance(result, Failure):
        return (Paragraph(f"not audited: {result.error}", "error"),)
    return tuple(_audit(result, lines=False, name=name))


def _in_a_word(result: AuditResult | Failure) -> str:
    """``4 errors, 2 notes``, ``no findings``, ``not audited``."""
    if isinstance(result, Failure):
        return "not audited"
    counts: dict[str, int] = {kind: count for kind, count in result.counts.items() if count}
    return _counted(counts) or "no findings"


def _of_all(results: Sequence[AuditResult | Failure]) -> str:
    """How many targets have errors, and how many could not be audited."""
    audited = [result for result in results if isinstance(result, AuditResult)]
    wrong = sum(_worst(result) == "error" for result in audited)
    failed = len(results) - len(audited)
    texts = [f"{wrong:,} of {len(results):,} targets with errors" if wrong else "no errors"]
    return "; ".join([*texts, f"{failed:,} not audited"] if failed else texts)


def lay_out(
    results: Sequence[AuditResult | Failure], *, lines: bool = False, fixes: bool = False
) -> Document:
    """``lines``: one line a finding, as terminals and grep like it; else a table. ``fixes``: after
    it, what to do about each rule that found something."""
    blocks: list[Block] = []
    for result in results:
        if len(results) > 1:
            blocks.append(Paragraph(f"{result.target}:"))
        blocks += _failure(result) if isinstance(result, Failure) else _audit(result, lines)
    if fixes:
        blocks += _fixes(results)
    if len(results) > 1:
        blocks += _sum(results)
    title = results[0].target if len(results) == 1 else f"{len(results)} targets"
    return Document(title, tuple(blocks), _table(results))


def _sum(results: Sequence[AuditResult | Failure]) -> list[Block]:
    """All targets together: how many are sound, what was found, which rules found it where."""
    audited = [result for result in results if isinstance(result, AuditResult)]
    worst = Counter(_worst(result) for result in audited)
    of_each = [f"{worst[kind]:,} with {kind}s" for kind in reversed(SEVERITIES) if worst[kind]]
    states = [f"{worst['']:,} without findings", *of_each]
    failed = len(results) - len(audited)
    states += [f"{failed:,} not audited"] if failed else []
    counts: dict[str, int] = {
        kind: sum(result.counts[kind] for result in audited) for kind in reversed(SEVERITIES)
    }
    blocks: list[Block] = [Paragraph(f"all {len(results):,} targets:")]
    codes = Counter(code for r in audited for code in {finding.code for finding in r.findings})
    ranked = sorted(codes.items(), key=lambda item: (-item[1], item[0]))
    if codes:
        first = {finding.code: finding for r in audited for finding in r.findings}
        columns = (
            Column("code", "code"),
            Column("severity", "severity"),
            Column("rule", "rule"),
            Column("targets", "targets", "int"),
        )
        shown = [(code, first[code], number) for code, number in ranked[:MAX_CODES]]
        rows = tuple((code, f.severity, f.rule, number) for code, f, number in shown)
        blocks.append(Table(columns, rows))
    if len(codes) > MAX_CODES:
        text = f"{len(codes) - MAX_CODES:,} more rules found something: -f csv has all findings"
        blocks.append(Paragraph(text, "note"))
    blocks.append(Facts((("targets", ", ".join(states)), ("found", _counted(counts)))))
    return blocks


def _worst(result: AuditResult) -> str:
    """The severity of the worst finding; empty without any."""
    return next((kind for kind in reversed(SEVERITIES) if result.counts[kind]), "")


def _failure(failure: Failure) -> list[Block]:
    return [Paragraph(f"{failure.target}: not audited: {failure.error}", "error")]


def _audit(result: AuditResult, lines: bool, name: str = "") -> list[Block]:
    blocks: list[Block] = [*judgement(result.problems)]
    if result.findings and lines:
        lines_of = [line for finding in result.findings for line in _lines(finding)]
        blocks.append(Preformatted("\n".join(lines_of)))
    elif result.findings:
        rows = tuple(
            (f.code, f.rule, f.severity, f.file, _tensors(f), f.text + _many(f), f.expected)
            for f in result.findings
        )
        fields = ("code", "rule", "severity", "file", "tensor", "found", "expected")
        columns = tuple(_NAMED[name] for name in fields)
        optional = ("file", "tensor", "expected")
        blocks.append(Table(columns, rows, title="Findings", optional=optional))
    blocks += remarks(problem for problem in result.problems if problem.stops_loading)
    items = [("audited", _audited(result, name or result.target)), ("found", summary(result))]
    if result.known:
        items.append(("known", f"{result.known:,} of the baseline, not listed"))
    items += [("not checked", f"{item.what}: {item.why}") for item in result.unchecked]
    blocks.append(Facts(tuple(items)))
    return blocks


def _fixes(results: Sequence[AuditResult | Failure]) -> list[Table]:
    from ..auditing.registry import get_rule

    audited = [result for result in results if isinstance(result, AuditResult)]
    codes = sorted({finding.code for result in audited for finding in result.findings})
    columns = (
        Column("code", "code"),
        Column("rule", "rule"),
        Column("why", "why it matters"),
        Column("fix", "fix"),
    )
    rules = [get_rule(code) for code in codes]
    rows = tuple((rule.code, rule.name, rule.why, rule.fix) for rule in rules)
    return [Table(columns, rows, title="How to fix it")] if rows else []


def _many(finding: AuditFinding) -> str:
    """How many tensors a finding is about, where its text does not say it."""
    if finding.count == 1 or f"{finding.count:,}" in finding.text:
        return ""
    return f" ({finding.count:,} tensors)"


def _tensors(finding: AuditFinding) -> str | None:
    """The tensor, or the names of all, folded."""
    if finding.count == 1 or finding.tensor is None:
        return finding.tensor
    names = folded_names(finding.names)
    return ", ".join([*names[:MAX_NAMES], *(["..."] if len(names) > MAX_NAMES else [])])


def _lines(finding: AuditFinding) -> Iterator[str]:
    """Severity, code, file, tensor, what was found, what was expected; below it the names of all
    tensors of one cause, folded."""
    is_one = finding.count == 1
    parts = (finding.file, finding.tensor if is_one else None, finding.text)
    text = ": ".join(clean(part, 2000) for part in parts if part)
    if finding.expected:
        text += f" (expected: {clean(finding.expected)})"
    yield f"{finding.severity:<7}  {finding.code}  {text}{_many(finding)}"
    names = [] if is_one else folded_names(finding.names)
    for name in names[:MAX_NAMES]:
        yield f"{'':16} {clean(name)}"
    if len(names) > MAX_NAMES:
        yield f"{'':16} and {more_are(len(names) - MAX_NAMES, 'kind')} in --format json"


def _audited(result: AuditResult, name: str) -> str:
    origin = result.origin
    commit = f" at commit {origin.commit}" if origin.commit else ""
    depth = "headers and values" if result.deep else "headers"
    files = "1 weight file" if result.files == 1 else f"{result.files:,} weight files"
    against = f", against {result.reference}" if result.reference else ""
    return (
        f"{name}{commit}: {depth} of {files}, {result.tensors:,} tensors, "
        f"{len(result.rules)} rules{against}"
    )


def summary(result: AuditResult) -> str:
    """``2 errors, 1 warning, 0 notes``."""
    return _counted(result.counts)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(
        f"{count:,} {severity}{'' if count == 1 else 's'}" for severity, count in counts.items()
    )


def _table(results: Sequence[AuditResult | Failure]) -> Table:
    rows = tuple(
        (
            result.target,
            finding.code,
            finding.severity,
            finding.rule,
            finding.file,
            finding.tensor,
            finding.text,
            finding.expected,
        )
        for result in results
        if isinstance(result, AuditResult)
        for finding in result.findings
    )
    return Table(_COLUMNS, rows)


@dataclass(frozen=True)
class AuditSum(JsonForm):
    """All targets of an audit together.

    Fields:
        targets: how many were named
        audited: of the targets, those that could be read
        without_findings: of those, the ones without a finding
        counts: severity -> number of findings
        codes: each code that was found, with the number of targets it was found in
    """

    targets: int
    audited: int
    without_findings: int
    counts: Mapping[str, int]
    codes: Mapping[str, int]


@dataclass(frozen=True)
class Audits(JsonDocument, names={"summed": "sum"}, after={"sum": ""}):
    """Several audits.

    Fields:
        results: one for each target
    """

    results: Sequence[AuditResult | Failure]

    @property
    def summed(self) -> AuditSum:
        """All targets together."""
        audited = [result for result in self.results if isinstance(result, AuditResult)]
        codes = Counter(code for r in audited for code in {finding.code for finding in r.findings})
        return AuditSum(
            len(self.results),
            len(audited),
            sum(not result.findings for result in audited),
            {kind: sum(r.counts[kind] for r in audited) for kind in reversed(SEVERITIES)},
            dict(sorted(codes.items())),
        )


@dataclass(frozen=True)
class RuleList(JsonForm):
    """Rules of the audit.

    Fields:
        rules: in the order of their codes
    """

    rules: Sequence[Rule]


def lay_out_rule(rule: Rule) -> Document:
    """What a rule looks for, why it matters, how to fix it."""
    facts = Facts(
        (
            ("severity", rule.severity + (", with --deep only" if rule.deep else "")),
            ("what", rule.what),
            ("why", rule.why),
            ("fix", rule.fix),
        )
    )
    return Document(f"{rule.code} {rule.name}", (facts,))


def lay_out_rules(rules: Sequence[Rule], *, lines: bool = False) -> Document:
    """Rules one below the other. ``lines``: as text that a terminal can wrap; else a table."""
    columns = (
        Column("code", "code"),
        Column("severity", "severity"),
        Column("deep", "with --deep only"),
        Column("rule", "rule"),
        Column("what", "what"),
        Column("why", "why"),
        Column("fix", "fix"),
    )
    rows = tuple((r.code, r.severity, r.deep, r.name, r.what, r.why, r.fix) for r in rules)
    table = Table(columns, rows)
    count = Paragraph(f"{len(rules):,} rules")
    if not lines:
        return Document("", (table, count), table)
    items = [item for rule in rules for item in _in_lines(rule)]
    return Document("", (Facts(tuple(items)), count), table)


def _in_lines(rule: Rule) -> list[tuple[str, str]]:
    deep = ", with --deep only" if rule.deep else ""
    return [
        (rule.code, f"{rule.severity}{deep}: {rule.what}"),
        ("", f"why: {rule.why}"),
        ("", f"fix: {rule.fix}"),
    ]
