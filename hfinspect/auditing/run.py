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
from ..errors import NothingToInspectError
from ..inspecting.declared_class import Predicted
from ..sources.source import Source
from .facts.collect import Collector
from .facts.target import TargetFacts
from .facts.tokenizers_read import tokenizer_of_root
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
    findings.sort(
        key=lambda f: (-SEVERITIES.index(f.severity), f.code, f.file or "", f.tensor or "")
    )
    return AuditResult(
        target=target,
        origin=facts.origin,
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
    left = iter(rule.check(facts))
    for finding in islice(left, MAX_PER_RULE):
        yield AuditFinding(
            rule.code,
            rule.name,
            _severity_of(finding, rule),
            finding.text,
            finding.file,
            finding.tensor,
            finding.expected,
        )
    more = 0
    worst: Severity = "note"
    for finding in islice(left, MAX_COUNTED):
        more += 1
        worst = max(worst, _severity_of(finding, rule), key=SEVERITIES.index)
    if next(left, None) is not None:
        more += 1
        worst = "error"  # what comes then is not looked at
    if more:
        text = f"{more:,} more findings of this rule are not listed"
        if more > MAX_COUNTED:
            text = f"more than {MAX_COUNTED:,} further findings of this rule are not listed"
        yield AuditFinding(rule.code, rule.name, worst, text)


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
