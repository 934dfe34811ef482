"""The few small files that say how text becomes ids, read at once."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from ..core.checkpoint import Finding
from ..core.text import more_are
from ..errors import HfinspectError
from ..formats.jinja.template_blocks import MAX_TEMPLATE_CHARS
from ..sources.source import FileEntry, Source
from .one_file import Read, read_json
from .token_table import (
    MAX_TOKENIZER_BYTES,
    TOKENIZERS,
    TokenTable,
    read_tokenizer,
    tokenizer_path,
)

#: JSON files, each a request on the Hub. The first one is the tokenizer's own.
SMALL: Final = tuple(
    """tokenizer_config.json special_tokens_map.json added_tokens.json chat_template.json
    processor_config.json generation_config.json""".split()
)
#: The chat template in a file of its own, and the folder of further ones.
TEMPLATE: Final = "chat_template.jinja"
MORE_TEMPLATES: Final = "additional_chat_templates/"
#: Further ones that are read; models that have any have two or three.
MAX_MORE_TEMPLATES: Final = 8


class TokenizerRead(NamedTuple):
    """What was read: JSON files by name, the list of tokens, templates by path, and what was not
    read, each with the reason. A template that was not read is None."""

    json: Mapping[str, Read[object]]
    table: TokenTable | None = None
    templates: Mapping[str, str | None] = {}
    findings: tuple[Finding, ...] = ()

    def mapping(self, name: str) -> Mapping[str, object]:
        """A JSON file's object; empty where there is none."""
        read = self.json.get(name)
        return (read.mapping if read is not None else None) or {}


def tokenizer_folders(files: Mapping[str, FileEntry]) -> tuple[str, ...]:
    """Folders that hold a tokenizer, the root (empty) first."""
    names = {*TOKENIZERS, SMALL[0]}
    folders = {path.rpartition("/")[0] for path in files if path.rpartition("/")[2] in names}
    return tuple(sorted(folders))


def encoder_of(folder: str) -> str:
    """The folder of the text encoder that a pipeline's tokenizer is for; a processor has one for
    the first."""
    if "tokenizer" in folder:
        return "text_encoder".join(folder.rsplit("tokenizer", 1))
    return "text_encoder/" if folder == "processor/" else folder


def template_paths(files: Mapping[str, FileEntry], folder: str) -> list[str]:
    """Files of chat templates in a folder (empty, or with a slash at its end)."""
    more = f"{folder}{MORE_TEMPLATES}"
    further = sorted(path for path in files if path.startswith(more) and path.endswith(".jinja"))
    return [path for path in (f"{folder}{TEMPLATE}", *further) if path in files]


def read_tokenizer_files(source: Source, folder: str = "", *, tokens: bool = True) -> TokenizerRead:
    """What a folder says of its tokenizer: a request a file that is there. A file that cannot be
    read is a finding. Without ``tokens`` the list of them is not read. Raises AccessErrors where
    nothing can be read at all."""
    files = source.list_files()
    small = [name for name in SMALL if folder + name in files]
    templates = template_paths(files, folder)
    left = max(len(templates) - 1 - MAX_MORE_TEMPLATES, 0)
    templates = templates[: 1 + MAX_MORE_TEMPLATES]
    path = tokenizer_path(files, folder) if tokens else None
    tasks: list[Callable[[], object]]
    tasks = [partial(read_json, source, folder + name) for name in small]
    tasks += [partial(_template, source, one) for one in templates]
    tasks += [partial(read_tokenizer, source, path, MAX_TOKENIZER_BYTES)] if path else []
    results = source.gather(tasks)
    reads = {name: one for name, one in zip(small, results, strict=False) if isinstance(one, Read)}
    findings = [_unread(folder + name, one.error) for name, one in reads.items() if one.error]
    texts: dict[str, str | None] = {}
    for one, text in zip(templates, results[len(small) :], strict=False):
        texts[one] = text if isinstance(text, str) else None
        if isinstance(text, HfinspectError):
            findings.append(_unread(one, text))
    table = results[-1] if path else None
    if isinstance(table, HfinspectError):
        findings.append(_unread(path or "", table))
    if left:
        findings.append(Finding("unread", f"{more_are(left, 'chat template')} not read"))
    token_table = table if isinstance(table, TokenTable) else None
    return TokenizerRead(reads, token_table, texts, tuple(findings))


def _template(source: Source, path: str) -> str:
    data = source.read(path, 0, MAX_TEMPLATE_CHARS + 1)
    return data.decode("utf-8", "backslashreplace")


def _unread(path: str, error: HfinspectError) -> Finding:
    return Finding("unread", f"was not read: {error.found}", path)
