"""Files that llama.cpp loads, each with one thing different.

The names of what differs: ``-NAME`` a tensor or key that is missing, ``~NAME`` a tensor with a
last size that is one larger, ``+NAME`` a key's number one larger, ``!NAME`` a tensor more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tests.sizing.llama_cpp_record import Keys, Recorded, Tensor

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
_SURPLUS = "blk.0.attn_rot_embd"
#: What every file lacks and llama.cpp requires: a vocabulary of tokens without names.
_VOCABULARY = {"tokenizer.ggml.model": "no_vocab"}
_OF_TYPES = frozenset("bert nomic-bert nomic-bert-moe jina-bert-v2 jina-bert-v3".split())


class Mutated(NamedTuple):
    """A header with one thing different; ``what`` is empty of the file as it was."""

    what: str
    keys: Keys
    tensors: list[Tensor]

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return {name: shape for name, shape, _ in self.tensors}


def loadable(file: Recorded) -> Mutated:
    """The file with the vocabulary that its rows say."""
    keys = {**file.keys, **_VOCABULARY}
    rows = next((shape[0] for name, shape, _ in file.tensors if name == "token_embd.weight"), None)
    if rows is not None:
        keys[f"{file.architecture}.vocab_size"] = rows
    if file.architecture in _OF_TYPES:
        keys["tokenizer.ggml.token_type_count"] = 2
    keys = {key: value for key, value in keys.items() if not key.startswith("GGUF.")}
    return Mutated("", keys, list(file.tensors))


def mutations(file: Recorded) -> Iterator[Mutated]:
    """The file as it is, and with each one thing different; of layers one is taken for all."""
    whole = loadable(file)
    yield whole
    patterns: dict[str, int] = {}
    for place, (name, _, _) in enumerate(whole.tensors):
        patterns.setdefault(_NUMBER.sub("N", name), place)
    for place in patterns.values():
        name, shape, dtype = whole.tensors[place]
        rest = whole.tensors[:place] + whole.tensors[place + 1 :]
        yield Mutated(f"-{name}", whole.keys, rest)
        wider: tuple[int, ...] = (shape[0] + 1, *shape[1:])
        changed: list[Tensor] = [*whole.tensors[:place], (name, wider, dtype)]
        yield Mutated(f"~{name}", whole.keys, changed + whole.tensors[place + 1 :])
    extra: Tensor = (_SURPLUS, (8,), "F32")
    yield Mutated(f"!{_SURPLUS}", whole.keys, [*whole.tensors, extra])
    for key, value in whole.keys.items():
        if key == "general.architecture":
            continue
        yield Mutated(f"-{key}", {k: v for k, v in whole.keys.items() if k != key}, whole.tensors)
        if type(value) is int:
            yield Mutated(f"+{key}", {**whole.keys, key: value + 1}, whole.tensors)


def bases(record: Mapping[str, Recorded]) -> list[str]:
    """One file of each architecture, and one with experts where only some files have them."""
    chosen: dict[tuple[str, bool, bool], str] = {}
    for name, entry in record.items():
        keys = entry.keys
        architecture = entry.architecture
        has_experts = f"{architecture}.expert_count" in keys
        is_converted = "+" in name and name.partition("+")[2].startswith(name.partition("+")[0])
        chosen.setdefault((architecture, has_experts, is_converted), name)
    return sorted(chosen.values())
