"""The tokenizers of a target, from the files that its audit has read anyway."""

from ...checkpoints.tokenizer_files import SMALL, TokenizerRead, template_paths
from ...core.once import once_each
from ...core.tokenizer_facts import TokenizerFacts
from ...inspecting.token_types import added_ids_of, token_types
from ...inspecting.tokenizing import ModelRead, tokenizer_facts
from .target import Folder, TargetFacts


@once_each
def tokenizers_of(facts: TargetFacts) -> tuple[TokenizerFacts, ...]:
    """One of each folder that has a tokenizer, a config or a GGUF file."""
    return tuple(_of_folder(facts, folder) for folder in facts.folders)


def tokenizer_of_root(facts: TargetFacts) -> TokenizerFacts | None:
    """That of the root, where any file says something of it."""
    each = zip(facts.folders, tokenizers_of(facts), strict=True)
    root = next((one for folder, one in each if not folder.path), None)
    return root if root is not None and root.says_anything else None


def _of_folder(facts: TargetFacts, folder: Folder) -> TokenizerFacts:
    paths = template_paths(facts.files, folder.path)
    small = {name: folder.json[name] for name in SMALL if name in folder.json}
    templates = {path: facts.templates.get(path) for path in paths}
    read = TokenizerRead(small, folder.tokenizer, templates)
    main = folder.main
    gguf = main.files[0] if main is not None and main.format == "gguf" and main.files else None
    shard = gguf.shard if gguf is not None else None
    model = ModelRead(
        folder.config,
        folder.config_path,
        folder.judged.inspection,
        shard.metadata if shard is not None else None,
        gguf.path if gguf is not None and shard is not None else "",
        token_types(shard, None) if shard is not None else {},
        shard,
        added_ids_of(shard, None) if shard is not None else {},
    )
    return tokenizer_facts(facts.origin.name, facts.origin, read, model)
