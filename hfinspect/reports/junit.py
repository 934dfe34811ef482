"""JUnit XML, which test dashboards read: one suite a target, one test case a rule.

The form is that of the Jenkins xUnit plugin's schema (junit-10.xsd). A rule fails if it found
something at or above the threshold; milder findings are in the case's output.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ..core.results import Failure
from ..core.text import clean
from ..core.verdicts import AuditFinding, AuditResult, at_least
from ..errors import AccessError

if TYPE_CHECKING:
    from ..auditing.registry import Rule

#: What XML 1.0 cannot hold, written in any way (section 2.2).
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(
    results: Sequence[AuditResult | Failure], rules: Mapping[str, Rule], fail_on: str
) -> str:
    """The audits as XML."""
    root = Element("testsuites", name="hfinspect audit")
    totals = {"tests": 0, "failures": 0, "errors": 0}
    for result in results:
        suite = SubElement(root, "testsuite", name=_text(result.target))
        if isinstance(result, Failure):
            counts = _failed(suite, result)
        else:
            counts = _audited(suite, result, rules, fail_on)
        for key, count in counts.items():
            suite.set(key, str(count))
            totals[key] += count
    for key, count in totals.items():
        root.set(key, str(count))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode")


def _failed(suite: Element, failure: Failure) -> dict[str, int]:
    case = SubElement(suite, "testcase", classname="hfinspect.audit", name="could be read")
    error = SubElement(case, "error", type=failure.kind, message=_text(str(failure.error)))
    server_words = failure.error.server_said if isinstance(failure.error, AccessError) else None
    lines = [f"server: {server_words}" if server_words else "", failure.error.hint or ""]
    error.text = _text("\n".join(filter(None, lines)))
    return {"tests": 1, "failures": 0, "errors": 1}


def _audited(
    suite: Element, result: AuditResult, rules: Mapping[str, Rule], fail_on: str
) -> dict[str, int]:
    failures = 0
    by_file: dict[str, list[AuditFinding]] = {}
    for finding in result.findings:
        by_file.setdefault(finding.code, []).append(finding)
    for code in result.rules:
        case = SubElement(
            suite,
            "testcase",
            classname=f"hfinspect.audit.{code[:3]}",
            name=f"{code} {rules[code].name}",
        )
        failing = [f for f in by_file.get(code, ()) if at_least(f.severity, fail_on)]
        mild = [f for f in by_file.get(code, ()) if not at_least(f.severity, fail_on)]
        if failing:
            failures += 1
            message = f"{len(failing)} findings: {rules[code].what}"
            failure = SubElement(case, "failure", type=failing[0].severity, message=message)
            failure.text = "\n".join(_line(f) for f in failing)
        if mild:
            SubElement(case, "system-out").text = "\n".join(_line(f) for f in mild)
    if result.unchecked:
        lines = [f"not checked: {_text(u.what)}: {_text(u.why)}" for u in result.unchecked]
        SubElement(suite, "system-out").text = "\n".join(lines)
    return {"tests": len(result.rules), "failures": failures, "errors": 0}


def _line(finding: AuditFinding) -> str:
    parts = (finding.severity, finding.file, finding.tensor, finding.text)
    text = ": ".join(_text(part) for part in parts if part)
    return f"{text} (expected: {_text(finding.expected)})" if finding.expected else text


def _text(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", clean(text, 2000))
