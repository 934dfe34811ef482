"""A baseline: the findings of an earlier audit, which a later one does not list again.

It is what ``--format json`` wrote. A finding is known by its target, code, file and tensor; where
it names neither file nor tensor, by its text. What the baseline has more often than the audit is
no finding: it was mended.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from ..core.verdicts import AuditFinding, AuditResult
from ..errors import UsageError

#: What makes two findings the same.
FindingKey: TypeAlias = tuple[str, str, str, str, str]
#: Bytes of a baseline: each rule lists at most 50 findings of a target.
MAX_BASELINE: Final = 64_000_000


def known_findings(name: str, document: object) -> Counter[FindingKey]:
    """The findings of a report of ``hfinspect audit --format json`` that was read from the file
    ``name``. Raises UsageError where it is none."""
    results = document.get("results") if isinstance(document, Mapping) else None
    if not isinstance(results, list):
        raise _no_report(name, "it has no list of results")
    known: Counter[FindingKey] = Counter()
    for result in results:
        if not isinstance(result, Mapping):
            raise _no_report(name, "a result is not an object")
        for finding in result.get("findings") or ():
            if not isinstance(finding, Mapping) or not isinstance(finding.get("code"), str):
                raise _no_report(name, "a finding has no code")
            text, file, tensor = (_text(finding.get(k)) for k in ("text", "file", "tensor"))
            known[_key(_text(result.get("target")), finding["code"], file, tensor, text)] += 1
    return known


def without_known(result: AuditResult, known: Mapping[FindingKey, int]) -> AuditResult:
    """The audit without the findings that are known; it says how many there were."""
    left = Counter(known)
    new: list[AuditFinding] = []
    for finding in result.findings:
        key = _key(
            result.target, finding.code, finding.file or "", finding.tensor or "", finding.text
        )
        if left[key] > 0:
            left[key] -= 1
        else:
            new.append(finding)
    return replace(result, findings=tuple(new), known=len(result.findings) - len(new))


def _key(target: str, code: str, file: str, tensor: str, text: str) -> FindingKey:
    place = target.replace("\\", "/").removeprefix("./").rstrip("/")
    return place, code, file, tensor, "" if file or tensor else text


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _no_report(name: str, why: str) -> UsageError:
    return UsageError(
        f"baseline {name}",
        f"is not a report of an audit: {why}",
        expected="what hfinspect audit --format json wrote",
    )
