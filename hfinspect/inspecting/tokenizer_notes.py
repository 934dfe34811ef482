"""What the first screen says of a tokenizer: that its files disagree, where that costs no request.

On a disk the small files are read and no list of tokens, which takes a second of the largest; of a
GGUF file the key-values are there already. Of a repo on the Hub nothing more is read.
"""

from collections.abc import Mapping
from dataclasses import replace

from ..checkpoints.read import ModelFiles, folder_of
from ..checkpoints.repo_layout import PIPELINE_FILE
from ..checkpoints.tokenizer_files import SMALL, TEMPLATE, read_tokenizer_files, tokenizer_folders
from ..core.checkpoint import Finding
from ..sources.source import FileEntry, Source


def tokenizer_notes(source: Source, read: ModelFiles, file: str | None) -> tuple[Finding, ...]:
    """One finding where files disagree by more than a note; none where nothing was read."""
    if PIPELINE_FILE in read.files and file is None:
        return _of_pipeline(source, read) if source.is_near else ()
    checkpoint = read.checkpoint
    shard = checkpoint.shards[0] if checkpoint is not None and checkpoint.shards else None
    gguf = shard if shard is not None and shard.format == "gguf" else None
    folder = folder_of(read.files, file)
    small = source.is_near and _has_any(read.files, folder)
    if not small and (gguf is None or "tokenizer.ggml.model" not in gguf.metadata):
        return ()
    from ..checkpoints.tokenizer_files import TokenizerRead
    from .tokenizing import ModelRead, tokenizer_facts

    files = read_tokenizer_files(source, folder, tokens=False) if small else TokenizerRead({})
    model = ModelRead(read.config, f"{folder}config.json")
    if gguf is not None:
        model = ModelRead(read.config, model.config_path, None, gguf.metadata, gguf.file)
    facts = tokenizer_facts(source.origin.name, source.origin, files, model)
    return _summed(facts.findings)


def _of_pipeline(source: Source, read: ModelFiles) -> tuple[Finding, ...]:
    from .tokenizer_parts import pipeline_facts

    folders = tuple(filter(None, tokenizer_folders(read.files)))
    facts = pipeline_facts("", source, read.files, folders, lambda _: None, tokens=False)
    pairs = ((part.component, finding) for part in facts.parts for finding in part.findings)
    return _summed(tuple(replace(one, file=one.file or component) for component, one in pairs))


def _has_any(files: Mapping[str, FileEntry], folder: str) -> bool:
    return any(folder + name in files for name in (*SMALL, TEMPLATE))


def _summed(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    grave = [one for one in findings if one.severity != "note" and one.rule != "unread"]
    if not grave:
        return ()
    first = grave[0]
    more = f"; {len(grave) - 1} more" if len(grave) > 1 else ""
    text = f"{first.text}{more} (the command tokenizer shows all)"
    return (Finding("tokenizer", text, first.file),)
