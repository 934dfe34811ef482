"""Adapters of a target, and what PEFT would make of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...checkpoints.filenames import FileKind
from ...core.wholeness import Problem
from ...inspecting.judging.adapter_fits import adapter_problems, base_of
from .target import Copy, Folder, TargetFacts


def adapters_of(facts: TargetFacts) -> Iterator[tuple[Folder, Copy, Mapping[str, object]]]:
    """LoRA adapters with their settings."""
    for folder in facts.folders:
        settings = folder.adapter
        if settings is None or str(settings.get("peft_type", "LORA")).upper() != "LORA":
            continue
        for copy in folder.copies:
            if copy.kind is FileKind.ADAPTER and copy.readable:
                yield folder, copy, settings


def problems_of_adapter(facts: TargetFacts, folder: Folder, copy: Copy) -> Iterator[Problem]:
    """The judgement of one adapter, next to the reference or to the config in its folder."""
    settings = folder.adapter or {}
    stored = None
    config = folder.config
    if facts.reference is not None:
        shards = facts.reference.shards
        stored = {t.name: t.shape for shard in shards for t in shard.tensors}
        config = facts.reference_config
    base = base_of(config, settings, stored)
    tensors = {tensor.name: tensor.shape for tensor in copy.tensors.values()}
    return adapter_problems(tensors, settings, base)
