"""From a target to its tokenizer: the model as ``inspect`` reads it, then the few small files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from ..checkpoints.json_files import PIPELINE_FILE
from ..checkpoints.one_file import read_config
from ..checkpoints.token_table import TOKENIZERS
from ..checkpoints.tokenizer_files import encoder_of, read_tokenizer_files, tokenizer_folders
from ..core.checkpoint import Finding
from ..core.choices import SourceChoice
from ..core.config import config_given
from ..core.refs import ModelRef
from ..core.text import more_are
from ..core.tokenizer_facts import TokenizerFacts
from ..errors import (
    HfinspectError,
    MalformedError,
    NothingToInspectError,
    UnknownArchitectureError,
    UsageError,
)
from ..sources.opening import Access
from ..sources.source import FileEntry, Source
from .build import Inspected
from .inspect_run import inspect_opened, json_of, of_pipeline
from .token_types import token_types
from .tokenizing import ModelRead, tokenizer_facts

#: Errors after which a tokenizer is looked at without its model.
#: Tokenizers of a pipeline that are read; known ones have up to three.
MAX_PARTS: Final = 16
_NO_MODEL = (MalformedError, NothingToInspectError, UnknownArchitectureError)


def tokenizer_target(
    target: object,
    access: Access,
    *,
    revision: str | None = None,
    source: SourceChoice = "auto",
    file: str | None = None,
) -> TokenizerFacts:
    """As ``api.tokenizer``."""
    if config_given(target) is not None:
        raise UsageError("a config", "has no tokenizer", expected="a repo, a directory or a file")
    ref = of_pipeline(access.resolve(target, revision))
    if ref.path is not None and json_of(ref) is not None:
        ref = replace(ref, path=str(Path(ref.path).parent))
    access = access.started()
    with access.opened(ref) as opened:
        return _read(str(target), ref, opened, access, source, ref.file or file)


def _read(
    name: str,
    ref: ModelRef,
    opened: Source,
    access: Access,
    source: SourceChoice,
    file: str | None,
) -> TokenizerFacts:
    files = opened.list_files()
    folders = tokenizer_folders(files)
    picked = file.rstrip("/") if file else ""
    folder = f"{picked}/" if picked and picked in folders else ""
    if not picked and "" not in folders and folders and PIPELINE_FILE in files:
        return _pipeline(name, opened, files, folders)
    inspected: Inspected | None = None
    findings: tuple[Finding, ...] = ()
    if folder:  # a pipeline's tokenizer has no weights of its own
        return _part(name, opened, files, folder)
    inspected, findings = _model(name, ref, opened, access, source, file)
    model = _model_read(opened, files, folder, inspected)
    read = read_tokenizer_files(opened, folder)
    has_any = "" in folders or model.gguf or read.templates
    if not has_any:
        raise _nothing(name, folders)
    facts = tokenizer_facts(name, opened.origin, read, model)
    return replace(facts, findings=(*facts.findings, *findings))


def _pipeline(
    name: str, opened: Source, files: Mapping[str, FileEntry], folders: tuple[str, ...]
) -> TokenizerFacts:
    """Each tokenizer of a pipeline; of the models only configs of text encoders are read."""
    parts = [_part(name, opened, files, f"{folder}/") for folder in folders[:MAX_PARTS]]
    findings: tuple[Finding, ...] = ()
    if (left := len(folders) - MAX_PARTS) > 0:
        findings = (Finding("unread", f"{more_are(left, 'tokenizer')} not read"),)
    return TokenizerFacts(name, opened.origin, parts=tuple(parts), findings=findings)


def _part(name: str, opened: Source, files: Mapping[str, FileEntry], folder: str) -> TokenizerFacts:
    """The tokenizer in a folder, with the config there or that of its text encoder."""
    own = f"{folder}config.json"
    beside = own if own in files else f"{encoder_of(folder)}config.json"
    model = _model_read(opened, files, beside.removesuffix("config.json"), None)
    facts = tokenizer_facts(name, opened.origin, read_tokenizer_files(opened, folder), model)
    if beside == own:
        return replace(facts, component=folder.rstrip("/"))
    # An encoder of texts generates nothing: nobody reads the ids in its config.
    findings = [
        replace(one, severity="note") if one.rule == "special-ids-differ" else one
        for one in facts.findings
    ]
    return replace(facts, component=folder.rstrip("/"), findings=tuple(findings))


def _model(
    name: str,
    ref: ModelRef,
    opened: Source,
    access: Access,
    source: SourceChoice,
    file: str | None,
) -> tuple[Inspected | None, tuple[Finding, ...]]:
    """The model, or a finding that says why there is none."""
    try:
        return inspect_opened(name, ref, opened, access, source=source, file=file), ()
    except _NO_MODEL as error:
        text = f"the model's own size was not read: {error.found}"
        return None, (Finding("no-model", text, severity="note"),)


def _model_read(
    opened: Source, files: Mapping[str, FileEntry], folder: str, inspected: Inspected | None
) -> ModelRead:
    path = f"{folder}config.json"
    if inspected is None:
        try:
            return ModelRead(read_config(opened, path) if path in files else None, path)
        except HfinspectError:
            return ModelRead(None, path)
    inspection, checkpoint = inspected.inspection, inspected.checkpoint
    if inspection.format != "gguf" or checkpoint is None:
        return ModelRead(inspection.config, path, inspection)
    for shard in checkpoint.shards:
        if "tokenizer.ggml.model" in shard.metadata:
            types = token_types(shard, opened)
            return ModelRead(inspection.config, path, inspection, shard.metadata, shard.file, types)
    return ModelRead(inspection.config, path, inspection)


def _nothing(name: str, folders: tuple[str, ...]) -> NothingToInspectError:
    hint = "name the repo whose tokenizer it is used with"
    if folders:
        hint = f"name a folder that has one as its file: {folders[0]}"
    expected = f"{', '.join(TOKENIZERS[:5])}, tokenizer_config.json or a GGUF file with one"
    return NothingToInspectError(name, "has no tokenizer", expected=expected, hint=hint)
