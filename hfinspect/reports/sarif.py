"""SARIF 2.1.0, the form in which code scanners hand over what they found.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html: one run, the rules under
``tool.driver`` (3.19), one ``result`` (3.27) a finding, a tensor as a logical location (3.33), and
what was not checked as notifications of the tool (3.58).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .._version import __version__
from ..core.results import Failure
from ..core.verdicts import AuditFinding, AuditResult

if TYPE_CHECKING:
    from ..auditing.registry import Rule

#: Where each rule has a page.
RULE_PAGES = "https://github.com/hfinspect/hfinspect/blob/main/docs/rules"


def rule_page(code: str) -> str:
    """The page of a rule."""
    return f"{RULE_PAGES}/{code}.md"


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(results: Sequence[AuditResult | Failure], rules: Mapping[str, Rule]) -> str:
    """The audits as one SARIF log with one run."""
    audited = [result for result in results if isinstance(result, AuditResult)]
    used = [rules[code] for code in sorted({code for r in audited for code in r.rules})]
    order = {rule.code: at for at, rule in enumerate(used)}
    run = {
        "tool": {
            "driver": {
                "name": "hfinspect",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in used],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(results)],
        "results": [
            _result(result, finding, order) for result in audited for finding in result.findings
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.what},
        "fullDescription": {"text": f"{rule.what} {rule.why}"},
        "helpUri": rule_page(rule.code),
        "help": {"text": f"{rule.why} To fix it: {rule.fix}"},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": [rule.code[:3]]},
    }


def _result(result: AuditResult, finding: AuditFinding, order: Mapping[str, int]) -> dict[str, Any]:
    text = finding.text + (f" (expected: {finding.expected})" if finding.expected else "")
    if finding.tensor:
        text = f"{finding.tensor}: {text}"
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(result, finding.file)}}
    }
    if finding.tensor is not None:
        location["logicalLocations"] = [
            {
                "name": finding.tensor.rpartition(".")[2],
                "fullyQualifiedName": finding.tensor,
                "kind": "member",
            }
        ]
    place = (finding.code, finding.file or "", finding.tensor or "")
    # Two causes of several tensors in one file have two prints.
    key = "\0".join(place if finding.tensor and finding.count == 1 else (*place, finding.text))
    return {
        "ruleId": finding.code,
        "ruleIndex": order[finding.code],
        "level": finding.severity,
        "message": {"text": text},
        "locations": [location],
        "partialFingerprints": {
            "hfinspect/v1": hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
        },
    }


def _uri(result: AuditResult, file: str | None) -> str:
    """Local files relative to where the audit was called, files on the Hub by their address."""
    origin = result.origin
    if origin.repo_id is not None and origin.kind in ("hub", "cache"):
        base = f"https://huggingface.co/{origin.repo_id}/blob/{origin.commit or 'main'}"
    elif origin.kind == "file":
        base = result.target.replace("\\", "/").rpartition("/")[0]
    else:
        base = result.target.replace("\\", "/").rstrip("/")
    path = "/".join(part for part in (base, file) if part and part != ".") or "."
    return quote(
        path.removeprefix("./") or ".", safe="/:@%" if "://" in base else "/@", errors="replace"
    )


def _invocation(results: Sequence[AuditResult | Failure]) -> dict[str, Any]:
    failures = [result for result in results if isinstance(result, Failure)]
    notes = [
        {"level": "error", "message": {"text": f"{f.target}: not audited: {f.error}"}}
        for f in failures
    ]
    for result in results:
        if isinstance(result, AuditResult):
            notes += [
                {
                    "level": "note",
                    "message": {"text": f"{result.target}: not checked: {u.what}: {u.why}"},
                }
                for u in result.unchecked
            ]
    return {"executionSuccessful": not failures, "toolExecutionNotifications": notes}
