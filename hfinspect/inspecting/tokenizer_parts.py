"""The tokenizers of a pipeline, each next to its text encoder."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from ..checkpoints.one_file import read_config
from ..checkpoints.tokenizer_files import encoder_of, read_tokenizer_files
from ..core.checkpoint import Finding
from ..core.text import more_are
from ..core.tokenizer_facts import TokenizerFacts
from ..errors import HfinspectError
from ..sources.source import FileEntry, Source
from .build import Inspected
from .token_types import added_ids_of, token_types
from .tokenizing import ModelRead, tokenizer_facts

#: Tokenizers of a pipeline that are read; known ones have up to three.
MAX_PARTS: Final = 16


def pipeline_facts(
    name: str,
    opened: Source,
    files: Mapping[str, FileEntry],
    folders: tuple[str, ...],
    encoder: Callable[[str], Inspected | None],
    *,
    tokens: bool = True,
) -> TokenizerFacts:
    """Each tokenizer of a pipeline, with the rows that ``encoder`` finds of its text encoder's
    folder, else those of its config; without ``tokens`` no list of these is read."""
    parts = [
        part_facts(name, opened, files, f"{folder}/", encoder, tokens=tokens)
        for folder in folders[:MAX_PARTS]
    ]
    findings: tuple[Finding, ...] = ()
    if (left := len(folders) - MAX_PARTS) > 0:
        findings = (Finding("unread", f"{more_are(left, 'tokenizer')} not read"),)
    return TokenizerFacts(name, opened.origin, parts=tuple(parts), findings=findings)


def part_facts(
    name: str,
    opened: Source,
    files: Mapping[str, FileEntry],
    folder: str,
    encoder: Callable[[str], Inspected | None],
    *,
    tokens: bool = True,
) -> TokenizerFacts:
    """The tokenizer in a folder, with the config there or that of its text encoder."""
    config_path = f"{folder}config.json"
    beside = config_path if config_path in files else f"{encoder_of(folder)}config.json"
    place = beside.removesuffix("config.json")
    model = model_read(
        opened, files, place, encoder(place.rstrip("/")) if beside in files else None
    )
    read = read_tokenizer_files(opened, folder, tokens=tokens)
    facts = tokenizer_facts(name, opened.origin, read, model)
    if beside == config_path:
        return replace(facts, component=folder.rstrip("/"))
    # An encoder of texts generates nothing: nobody reads the ids in its config.
    findings = [
        replace(one, severity="note") if one.rule == "special-ids-differ" else one
        for one in facts.findings
    ]
    return replace(facts, component=folder.rstrip("/"), findings=tuple(findings))


def model_read(
    opened: Source, files: Mapping[str, FileEntry], folder: str, inspected: Inspected | None
) -> ModelRead:
    path = f"{folder}config.json"
    if inspected is None:
        try:
            return ModelRead(read_config(opened, path) if path in files else None, path)
        except HfinspectError:
            return ModelRead(None, path)
    inspection = inspected.inspection
    checkpoint = inspected.checkpoint
    if inspection.format != "gguf" or checkpoint is None:
        return ModelRead(inspection.config, path, inspection)
    for shard in checkpoint.shards:
        if "tokenizer.ggml.model" in shard.metadata:
            types = token_types(shard, opened)
            model = ModelRead(
                inspection.config, path, inspection, shard.metadata, shard.file, types
            )
            return replace(model, added=added_ids_of(shard, opened))
    return ModelRead(inspection.config, path, inspection)
