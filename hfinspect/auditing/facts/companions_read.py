"""The small files next to the weights: configs, indexes, the tokenizer's ids."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ...checkpoints.small_files import MAX_CONFIG_BYTES, parse_json
from ...checkpoints.weight_map import MAX_INDEX_BYTES, parse_index
from ...core.paths import why_unsafe
from ...errors import ConfigError, HfinspectError
from ...formats.strict_json import StrictJsonError, decode_pairs
from ...sources.source import FileEntry, Source
from .target import IndexFact, JsonFact, TokenizerFact

#: Small files that say how weights are to be used; each costs a request on the Hub.
CONFIGS = (
    "config.json", "generation_config.json", "adapter_config.json", "tokenizer_config.json",
    "special_tokens_map.json", "added_tokens.json", "hf_quant_config.json",
    "quantize_config.json", "quantization_config.json", "quant_config.json",
    "preprocessor_config.json", "processor_config.json", "chat_template.json",
    "model_index.json", "modules.json", "scheduler_config.json", "router_config.json",
    "cnn_config.json", "lstm_config.json", "wordembedding_config.json",
)  # fmt: skip

#: Files that list a tokenizer's ids, the most complete first.
TOKENIZERS = ("tokenizer.json", "vocab.json", "vocab.txt")

#: Other JSON files are looked at only on disk, where it costs nothing, and only up to this size.
MAX_OTHER_JSON = 1024 * 1024

#: A directory of results may hold thousands of JSON files that are none of the model's.
MAX_OTHER_FILES = 200

#: The largest tokenizers (262,144 ids with merges) take 35 MB.
MAX_TOKENIZER_BYTES = 128 * 1024 * 1024

#: What an audit of a repo downloads of one tokenizer; with ``deep`` all of it.
MAX_REMOTE_TOKENIZER_BYTES = 20 * 1024 * 1024


def read_json(source: Source, path: str) -> JsonFact:
    """A small JSON file; errors are part of the fact."""
    size = source.list_files()[path].size or 0
    try:
        data = source.read_all(path, MAX_CONFIG_BYTES)
    except HfinspectError as error:
        return JsonFact(path, size, error=error)
    try:
        return JsonFact(path, len(data), parse_json(path, data), text=data)
    except HfinspectError as error:
        return JsonFact(path, len(data), error=error, text=data)


def read_index(source: Source, path: str) -> IndexFact:
    """An index. Entries that point outside are set apart, so that the others can be judged."""
    try:
        data = source.read_all(path, MAX_INDEX_BYTES)
    except HfinspectError as error:
        return IndexFact(path, error=error)
    try:
        return IndexFact(path, parse_index(path, data))
    except HfinspectError as error:
        unsafe = _unsafe_shards(data)
        if not unsafe:
            return IndexFact(path, error=error)
    try:
        return IndexFact(path, parse_index(path, _without(data, dict(unsafe))), unsafe=unsafe)
    except HfinspectError as error:
        return IndexFact(path, error=error, unsafe=unsafe)


def _unsafe_shards(data: bytes) -> tuple[tuple[str, str], ...]:
    try:
        content = decode_pairs(data)
    except StrictJsonError:
        return ()
    weight_map = dict(content).get("weight_map") if isinstance(content, tuple) else None
    pairs = weight_map if isinstance(weight_map, tuple) else ()
    shards = {shard for _, shard in pairs if isinstance(shard, str)}
    reasons = ((shard, why_unsafe(shard)) for shard in sorted(shards))
    return tuple((shard, reason) for shard, reason in reasons if reason is not None)


def _without(data: bytes, unsafe: Mapping[str, str]) -> bytes:
    content = json.loads(data)
    content["weight_map"] = {
        name: shard
        for name, shard in content["weight_map"].items()
        if not (isinstance(shard, str) and shard in unsafe)
    }
    return json.dumps(content).encode()


# ---- tokenizers


def tokenizer_path(files: Mapping[str, FileEntry], folder: str) -> str | None:
    """The file of a folder that tells most about ids."""
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
        raise ConfigError(path, "is no JSON object")
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


def added_ids(json_files: Mapping[str, JsonFact]) -> Iterable[tuple[int, str]]:
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
