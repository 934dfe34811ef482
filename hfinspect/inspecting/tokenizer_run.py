"""From a target to its tokenizer: the model as ``inspect`` reads it, then the few small files."""

from dataclasses import replace
from pathlib import Path

from ..checkpoints.json_files import PIPELINE_FILE
from ..checkpoints.token_table import TOKENIZERS
from ..checkpoints.tokenizer_files import read_tokenizer_files, tokenizer_folders
from ..core.checkpoint import Finding
from ..core.choices import SourceChoice
from ..core.given_config import config_given
from ..core.refs import ModelRef
from ..core.tokenizer_facts import TokenizerFacts
from ..errors import (
    MalformedError,
    NothingToInspectError,
    UnknownArchitectureError,
    UsageError,
)
from ..sources.opening import Access
from ..sources.source import Source
from .build import Inspected
from .inspect_run import inspect_opened, json_of, of_pipeline
from .tokenizer_parts import model_read, part_facts, pipeline_facts
from .tokenizing import tokenizer_facts

#: Errors after which a tokenizer is looked at without its model.
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
    name: str, ref: ModelRef, opened: Source, access: Access, source: SourceChoice, file: str | None
) -> TokenizerFacts:
    files = opened.list_files()
    folders = tokenizer_folders(files)
    picked = file.rstrip("/") if file else ""
    folder = f"{picked}/" if picked and picked in folders else ""

    def encoder(folder: str) -> Inspected | None:
        """A text encoder by its headers, where these are near or wanted."""
        reads = source == "checkpoint" or (source == "auto" and opened.is_near)
        model = _model(name, ref, opened, access, source, folder)[0] if reads and folder else None
        return model if model and model.inspection.source != "config" else None

    if not picked and "" not in folders and folders and PIPELINE_FILE in files:
        return pipeline_facts(name, opened, files, folders, encoder)
    if folder:  # a pipeline's tokenizer has no weights of its own
        return part_facts(name, opened, files, folder, encoder)
    inspected, findings = _model(name, ref, opened, access, source, file)
    model = model_read(opened, files, folder, inspected)
    read = read_tokenizer_files(opened, folder)
    has_any = "" in folders or model.gguf or read.templates
    if not has_any:
        raise _nothing(name, folders)
    facts = tokenizer_facts(name, opened.origin, read, model)
    return replace(facts, findings=(*facts.findings, *findings))


def _model(
    name: str, ref: ModelRef, opened: Source, access: Access, source: SourceChoice, file: str | None
) -> tuple[Inspected | None, tuple[Finding, ...]]:
    """The model, or a finding that says why there is none."""
    try:
        return inspect_opened(name, ref, opened, access, source=source, file=file), ()
    except _NO_MODEL as error:
        text = f"the model's own size was not read: {error.found}"
        return None, (Finding("no-model", text, severity="note"),)


def _nothing(name: str, folders: tuple[str, ...]) -> NothingToInspectError:
    hint = "name the repo whose tokenizer it is used with"
    if folders:
        hint = f"name a folder that has one as its file: {folders[0]}"
    expected = f"{', '.join(TOKENIZERS[:5])}, tokenizer_config.json or a GGUF file with one"
    return NothingToInspectError(name, "has no tokenizer", expected=expected, hint=hint)
