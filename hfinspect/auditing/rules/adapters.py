"""HI317 to HI320, HI342 and HI343: an adapter against its config and its base. HI33x: against a
reference."""

from collections.abc import Iterator, Mapping

from ...checkpoints.filenames import FileKind
from ...core.tensor import StoredTensor
from ..facts.adapters_there import adapters_of, problems_of_adapter
from ..facts.target import Copy, TargetFacts
from ..registry import RuleFinding, rule

_HALVES = {"lora_A": "lora_B", "lora_embedding_A": "lora_embedding_B"}


def _pairs(copy: Copy) -> Iterator[tuple[str, StoredTensor | None, StoredTensor | None, bool]]:
    """(module, A, B, whether of an embedding) of every module that has either half."""
    pairs: dict[tuple[str, bool], dict[str, StoredTensor]] = {}
    for name, tensor in copy.tensors.items():
        parts = name.split(".")
        for at, part in enumerate(parts):
            if part in _HALVES or part in _HALVES.values():
                key = (".".join(parts[:at]), "embedding" in part)
                pairs.setdefault(key, {})[part[-1]] = tensor
                break
    for (module, embedding), halves in pairs.items():
        yield module, halves.get("A"), halves.get("B"), embedding


@rule("HI317", "adapter-rank", "error")
def adapter_rank(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A LoRA matrix is of another rank than adapter_config.json says, or than its other half.

    Why: peft builds matrices of the config's rank and refuses these.

    Fix: correct `r` or `rank_pattern` in adapter_config.json.
    """
    for folder, copy, settings in adapters_of(facts):
        pattern = settings.get("rank_pattern")
        ranks = {settings.get("r"), *(pattern.values() if isinstance(pattern, dict) else ())}
        declared = {rank for rank in ranks if type(rank) is int}
        for _, first, second, _ in _pairs(copy):
            a = first.shape[0] if first is not None and first.shape else None
            b = second.shape[1] if second is not None and len(second.shape) > 1 else None
            for tensor, rank in ((first, a), (second, b)):
                if tensor is not None and rank is not None and declared and rank not in declared:
                    shown = " or ".join(map(str, sorted(declared)))
                    expected = f"rank {shown} by {folder.path}adapter_config.json"
                    path = copy.file_of[tensor.name]
                    yield RuleFinding(f"is of rank {rank}", path, tensor.name, expected)
            if first is not None and a is not None and b is not None and a != b:
                text = f"is of rank {a}, its other half of rank {b}"
                yield RuleFinding(text, copy.file_of[first.name], first.name)


@rule("HI318", "adapter-half", "error")
def adapter_half(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A LoRA module has only one of its two matrices.

    Why: the other one is initialised, so the module does nothing or adds noise.

    Fix: save the adapter again.
    """
    for _, copy, _ in adapters_of(facts):
        for module, first, second, _ in _pairs(copy):
            read = first or second
            if read is not None and (first is None or second is None):
                lack = "lora_B" if second is None else "lora_A"
                text = f"{module} has no {lack}"
                yield RuleFinding(text, copy.file_of[read.name], read.name)


@rule("HI319", "adapter-targets", "warning")
def adapter_targets(facts: TargetFacts) -> Iterator[RuleFinding]:
    """`target_modules` names a module without LoRA matrices, or not one that has some.

    Why: peft creates what the config names and fills it from the file; the two must agree.

    Fix: correct `target_modules`, or save the adapter again.
    """
    for folder, copy, settings in adapters_of(facts):
        targets = settings.get("target_modules")
        if not isinstance(targets, list) or not all(isinstance(t, str) for t in targets):
            continue
        modules = {module: first or second for module, first, second, _ in _pairs(copy)}
        parameters = settings.get("target_parameters")
        for target in targets:
            if not any(m == target or m.endswith(f".{target}") for m in modules):
                text = f"target_modules names {target}, and no tensor belongs to it"
                yield RuleFinding(text, f"{folder.path}adapter_config.json")
        for module, tensor in modules.items():
            if tensor is None or parameters:
                continue
            if not any(module == t or module.endswith(f".{t}") for t in targets):
                text = "target_modules does not name its module"
                yield RuleFinding(text, copy.file_of[tensor.name], tensor.name)


@rule("HI320", "adapter-base", "error")
def adapter_base(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A LoRA module is not in the base model, or a tensor of the adapter does not fit that there.

    Why: the adapter was made for another model, or for one with another vocabulary. Needs the base:
    a config.json next to the adapter, or `--reference`.

    Fix: use the base that adapter_config.json names, at the right revision.
    """
    yield from _of_kinds(facts, "parts_differ")


@rule("HI342", "adapter-names", "error")
def adapter_names(facts: TargetFacts) -> Iterator[RuleFinding]:
    """PEFT finds no module for the names in an adapter, or no LoRA pair among them.

    Why: PEFT fills modules by their whole paths; what has another path is left out, with a warning
    at most, and the adapter does nothing.

    Fix: save the adapter on the class that it is used with, outside of any wrapper.
    """
    yield from _of_kinds(facts, "other_names")


@rule("HI343", "adapter-incomplete", "error")
def adapter_incomplete(facts: TargetFacts) -> Iterator[RuleFinding]:
    """adapter_config.json names modules of which the file holds nothing.

    Why: PEFT fails for a module that was to be saved whole, and gives a module of the base without
    matrices new ones, which do nothing.

    Fix: save the adapter again, or correct modules_to_save and target_modules.
    """
    yield from _of_kinds(facts, "missing_tensors")


def _of_kinds(facts: TargetFacts, kind: str) -> Iterator[RuleFinding]:
    for folder, copy, _ in adapters_of(facts):
        for problem in problems_of_adapter(facts, folder, copy):
            if problem.kind == kind:
                file = copy.file_of.get(problem.example or "")
                yield RuleFinding(
                    problem.sentence,
                    file or f"{folder.path}adapter_config.json",
                    problem.example if file else None,
                    problem.fix or None,
                    problem.severity,
                )


# ---- --reference


def _referred(facts: TargetFacts) -> Iterator[tuple[Copy, Mapping[str, StoredTensor]]]:
    if facts.reference is None or not facts.folders:
        return
    base = {t.name: t for shard in facts.reference.shards for t in shard.tensors}
    copy = facts.folders[0].main
    if copy is not None and copy.kind is not FileKind.ADAPTER:
        yield copy, base


@rule("HI331", "reference-missing", "error")
def reference_missing(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The reference has a tensor that this checkpoint lacks (`--reference`).

    Why: a fine-tune has the tensors of its base; what is absent was lost in saving.

    Fix: save the fine-tune again with all its modules.
    """
    for copy, base in _referred(facts):
        for name in base:
            if name not in copy.holders and name not in copy.lost_names:
                text = f"is in {facts.reference_name} and not here"
                yield RuleFinding(text, copy.label, name)


@rule("HI332", "reference-shape", "error")
def reference_shape(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A tensor is of another shape than in the reference (`--reference`).

    Why: the fine-tune was resized, or comes from another base.

    Fix: name the right base; a resized vocabulary must be resized in the config too.
    """
    for copy, base in _referred(facts):
        for name, tensor in copy.tensors.items():
            if name in base and base[name].shape != tensor.shape:
                expected = f"{'x'.join(map(str, base[name].shape))}, as in {facts.reference_name}"
                text = f"is {'x'.join(map(str, tensor.shape))}"
                yield RuleFinding(text, copy.file_of[name], name, expected)


@rule("HI333", "reference-extra", "warning")
def reference_extra(facts: TargetFacts) -> Iterator[RuleFinding]:
    """This checkpoint holds a tensor that the reference lacks (`--reference`).

    Why: leftovers of training (adapters, value heads) or another model.

    Fix: delete it, or say in the model card what it is for.
    """
    for copy, base in _referred(facts):
        for name, path in copy.file_of.items():
            if name not in base:
                yield RuleFinding(f"is not in {facts.reference_name}", path, name)


@rule("HI334", "reference-dtype", "note")
def reference_dtype(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A tensor is of another dtype than in the reference (`--reference`).

    Why: the fine-tune was saved with more or fewer bits than its base.

    Fix: none needed if it is meant.
    """
    for copy, base in _referred(facts):
        changed = [n for n, t in copy.tensors.items() if n in base and base[n].dtype != t.dtype]
        if changed:
            first = changed[0]
            text = f"{len(changed):,} tensors differ in dtype; this one is "
            text += copy.tensors[first].dtype
            yield RuleFinding(text, copy.file_of[first], first, base[first].dtype)
