"""From a source to a result: facts once, every chosen rule on them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import cast

from ..core.checkpoint import Checkpoint, Shard
from ..core.choices import SEVERITIES, Severity
from ..core.collector import collector_paused
from ..core.inventory import Inventory, InventoryFile
from ..core.progress import Progress
from ..core.verdicts import AuditFinding, AuditResult, Unchecked
from ..core.wholeness import MAX_NAMES
from ..errors import NothingToInspectError
from ..inspecting.declared_class import Predicted
from ..sources.source import Source
from .facts.collect import Collector
from .facts.target import TargetFacts
from .facts.tokenizers_read import tokenizer_of_root
from .facts.whole_target import judgement_of
from .registry import Rule, RuleFinding, chosen

#: Findings of one rule that are listed one by one; a wrong config makes 100,000 of a kind.
MAX_PER_RULE = 50

#: Findings of one rule that are counted: beyond, "more" is said, as an error.
MAX_COUNTED = 1_000_000


def run_audit(
    target: str,
    source: Source,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    deep: bool = False,
    file: str | None = None,
    reference: Checkpoint | None = None,
    reference_name: str | None = None,
    reference_config: Mapping[str, object] | None = None,
    progress: Progress | None = None,
    predicted: Predicted | None = None,
    shards: Sequence[Shard] = (),
) -> AuditResult:
    """Audit what ``source`` serves; ``predicted`` is a prediction made before, ``shards`` are
    weight files whose headers were read.

    Raises UsageError for unknown codes, AccessErrors.
    """
    rules = chosen(select, ignore, deep=deep)
    known = {shard.file: shard for shard in shards}
    collector = Collector(
        source, file, deep, reference, reference_name, progress, predicted, known, reference_config
    )
    facts = collector.collect()
    result = judge_facts(target, facts, rules, deep=deep)
    if not (facts.weights or facts.pickles or facts.has_config or result.findings):
        error = NothingToInspectError(
            target,
            "holds neither weights nor a config.json",
            hint="audit a directory of checkpoints folder by folder",
        )
        error.argument = ("audit", target)
        raise error
    return result


def judge_facts(
    target: str, facts: TargetFacts, rules: Sequence[Rule], *, deep: bool = False
) -> AuditResult:
    """Every rule on the facts; findings ordered by severity, then code, file and tensor."""
    with collector_paused():
        findings = [finding for rule in rules for finding in _findings(rule, facts)]
    is_all_there, problems = judgement_of(facts)
    findings.sort(
        key=lambda f: (-SEVERITIES.index(f.severity), f.code, f.file or "", f.tensor or "")
    )
    return AuditResult(
        target=target,
        origin=facts.origin,
        whole=is_all_there,
        problems=problems,
        reference=facts.reference_name,
        deep=deep,
        files=sum(weight.shard is not None for weight in facts.weights.values()),
        tensors=sum(len(weight.tensors) for weight in facts.weights.values()),
        findings=tuple(findings),
        unchecked=(*facts.unchecked, *_not_compared(facts)),
        rules=tuple(rule.code for rule in rules),
        inventory=_inventory(facts),
        tokenizer=tokenizer_of_root(facts),
    )


def _inventory(facts: TargetFacts) -> Inventory:
    """What a bill of materials lists."""
    root = facts.root
    config = (root.config if root is not None else None) or {}
    classes = config.get("architectures")
    first = classes[0] if isinstance(classes, list) and classes else None
    kind = config.get("model_type")
    return Inventory(
        tuple(
            InventoryFile(
                path,
                entry.size,
                entry.sha256 or (facts.deep[path].sha256 if path in facts.deep else None),
            )
            for path, entry in sorted(facts.files.items())
        ),
        facts.card.licence or None,
        facts.card.base_models,
        first if isinstance(first, str) else None,
        kind if isinstance(kind, str) else None,
    )


def _severity_of(finding: RuleFinding, rule: Rule) -> Severity:
    """The finding's own, else the rule's."""
    return cast("Severity", finding.severity or rule.severity)


def _findings(rule: Rule, facts: TargetFacts) -> Iterator[AuditFinding]:
    """Tensors of which the same is said are one finding, with all their names."""
    causes: dict[object, _Cause] = {}
    left = iter(rule.check(facts))
    number = 0
    for number, finding in enumerate(islice(left, MAX_PER_RULE + MAX_COUNTED), 1):
        severity = _severity_of(finding, rule)
        alike = (severity, finding.text, finding.file, finding.expected)
        key = (*alike, "") if finding.tensor else (*alike, number)
        cause = causes.get(key)
        if cause is None:
            cause = causes[key] = _Cause(finding, severity)
        cause.add(finding)
    listed = list(causes.values())
    for cause in listed[:MAX_PER_RULE]:
        yield cause.as_finding(rule)
    further = listed[MAX_PER_RULE:]
    more = sum(cause.number for cause in further)
    worst: Severity = "note"
    for cause in further:
        worst = max(worst, cause.severity, key=SEVERITIES.index)
    text = f"{more:,} more findings of this rule are not listed"
    if next(left, None) is not None:
        worst = "error"  # what comes then is not looked at
        more = number + 1
        text = f"more than {MAX_COUNTED:,} further findings of this rule are not listed"
    if more:
        yield AuditFinding(rule.code, rule.name, worst, text)


class _Cause:
    """Findings of a rule that say the same of several tensors."""

    def __init__(self, first: RuleFinding, severity: Severity) -> None:
        self.first = first
        self.severity = severity
        self.number = 0
        self.names: list[str] = []

    def add(self, finding: RuleFinding) -> None:
        self.number += finding.number
        further = finding.names or ((finding.tensor,) if finding.tensor else ())
        self.names += further[: MAX_NAMES - len(self.names)]

    def as_finding(self, rule: Rule) -> AuditFinding:
        return AuditFinding(
            rule.code,
            rule.name,
            self.severity,
            self.first.text,
            self.first.file,
            self.first.tensor,
            self.first.expected,
            self.number,
            tuple(self.names) if self.number > 1 else (),
        )


def _not_compared(facts: TargetFacts) -> Iterator[Unchecked]:
    """Where the checkpoint could not be held against its config, and why."""
    if facts.single and any(copy.sharded for _, copy in facts.copies()):
        yield Unchecked("the other shards", "one file was named")
    for folder in facts.folders:
        main = folder.main
        place = folder.path or "."
        if main is None:
            if folder.config is not None and not folder.copies and folder.is_model:
                yield Unchecked(
                    f"weights in {place}", "no weight file has a format that hfinspect reads"
                )
            if any(copy.files for copy in folder.copies):
                yield Unchecked(
                    f"weights in {place} against a config", "they are not a model's own"
                )
            continue
        for file in main.files:
            if file.shard is None:
                yield Unchecked(f"tensors of {file.path}", "its header could not be read")
        if folder.config is None and folder.judged.config is None:
            if folder.adapter is None and main.format != "gguf":
                yield Unchecked(f"weights in {place} against a config", "no config could be read")
        elif main.format == "gguf":
            yield Unchecked(f"{main.label} against config.json", "GGUF has names of its own")
        elif folder.judged.prediction is None:
            why = "its architecture is not in the catalog"
            if folder.judged.config_error is not None:
                why = "the config is broken"
            yield Unchecked(f"{main.label} against {folder.config_path}", why)
        for finding in folder.judged.decoding.findings:
            if finding.rule in ("unknown-packing", "unknown-quantization"):
                yield Unchecked(f"packed weights of {main.label}", finding.text)
                break
        if folder.adapter is not None and facts.reference is None and folder.config is None:
            yield Unchecked("the adapter against its base", "no reference was given")
