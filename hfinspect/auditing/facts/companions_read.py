"""The small files next to the weights that an audit reads, and the tokenizer's ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...checkpoints.json_files import parse_json
from ...checkpoints.one_file import Read
from ...errors import ConfigError
from ...sources.source import FileEntry, Source
from .target import TokenizerFact

#: Small files that say how weights are to be used; each costs a request on the Hub.
CONFIGS = (
    "config.json",
    "generation_config.json",
    "adapter_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "hf_quant_config.json",
    "quantize_config.json",
    "quantization_config.json",
    "quant_config.json",
    "preprocessor_config.json",
    "processor_config.json",
    "chat_template.json",
    "model_index.json",
    "modules.json",
    "scheduler_config.json",
    "router_config.json",
    "cnn_config.json",
    "lstm_config.json",
    "wordembedding_config.json",
    "video_preprocessor_config.json",
    "image_processor_config.json",
    "modular_config.json",
    "modular_model_index.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
)

#: Files that list a tokenizer's ids, the most complete first.
TOKENIZERS = ("tokenizer.json", "vocab.json", "vocab.txt")

#: Other JSON files are looked at only on disk, where it costs nothing, and up to so many bytes in
#: all, the smallest first: a directory of results may hold gigabytes that are none of the model's.
MAX_OTHER_JSON = 32 * 1024 * 1024

#: And so many of them: a directory of results may hold thousands.
MAX_OTHER_FILES = 1_000

#: The largest tokenizers (262,144 ids with merges) take 35 MB.
MAX_TOKENIZER_BYTES = 128 * 1024 * 1024

#: What an audit of a repo downloads of one tokenizer; with ``deep`` all of it.
MAX_REMOTE_TOKENIZER_BYTES = 20 * 1024 * 1024


def tokenizer_path(files: Mapping[str, FileEntry], folder: str) -> str | None:
    """The file of a folder that says most about ids."""
    return next((folder + name for name in TOKENIZERS if folder + name in files), None)


def read_tokenizer(source: Source, path: str, limit: int) -> TokenizerFact | None:
    """The highest id in a tokenizer's file, None where it names none.

    Raises LimitError, ConfigError, AccessErrors.
    """
    data = source.read_all(path, limit)
    if path.endswith(".txt"):
        lines = data.rstrip(b"\n").count(b"\n") + 1 if data.strip() else 0
        return TokenizerFact(lines - 1, path) if lines else None
    value = parse_json(path, data)
    if not isinstance(value, dict):
        raise ConfigError(path, "is not a JSON object")
    ids = value.values() if not path.endswith("tokenizer.json") else _fast_ids(value)
    highest = max((item for item in ids if type(item) is int), default=None)
    return None if highest is None else TokenizerFact(highest, path)


def _fast_ids(value: Mapping[str, object]) -> Iterable[object]:
    """Ids of tokenizer.json: its model's vocabulary (a mapping, or for Unigram a list in order)
    and the tokens added to it."""
    model = value.get("model")
    vocab = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocab, dict):
        yield from vocab.values()
    elif isinstance(vocab, list) and vocab:
        yield len(vocab) - 1
    added = value.get("added_tokens")
    for item in added if isinstance(added, list) else ():
        if isinstance(item, dict):
            yield item.get("id")


def added_ids(json_files: Mapping[str, Read[object]]) -> Iterable[tuple[int, str]]:
    """(id, file) of tokens that the other tokenizer files add."""
    added = json_files.get("added_tokens.json")
    if added is not None and added.mapping is not None:
        for value in added.mapping.values():
            if type(value) is int:
                yield value, added.path
    config = json_files.get("tokenizer_config.json")
    decoder = (config.mapping or {}).get("added_tokens_decoder") if config is not None else None
    if config is not None and isinstance(decoder, dict):
        for key in decoder:
            if isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 12:
                yield int(key), config.path
