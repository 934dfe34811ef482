"""What llama.cpp's loader requires of a GGUF file: keys, a vocabulary, splits and tensors.

A file of another kind (an mmproj, an importance matrix, an adapter, a vocabulary) is none that this
loader takes, and nothing is required of it here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ...analysis.gguf.key_expressions import length_of
from ...analysis.gguf.llama_cpp_contract import (
    Contract,
    contract_of,
    is_known,
    release,
    tokenizer_names,
)
from ...core.checkpoint import Shard
from ...core.text import clean, shape_text
from ...core.wholeness import Problem, ProblemKind, of_names
from ...formats.gguf.file_kinds import MODEL
from ...formats.gguf.ggml_types import REMOVED_TYPES
from ...formats.gguf.gguf import describe
from .evidence import Evidence

_MODEL: Final = "tokenizer.ggml.model"
_TOKENS: Final = "tokenizer.ggml.tokens"
_MERGES: Final = "tokenizer.ggml.merges"
_PRE: Final = "tokenizer.ggml.pre"
#: Vocabularies of merges, whose text is split first by a rule that has a name.
_OF_MERGES: Final = frozenset({"gpt2", "hybriddna", "whitespace", "gemma4"})
_WITHOUT_PRE: Final = frozenset({"gemma4"})
_NONE: Final = frozenset({"no_vocab", "none"})
_TABLE: Final = "token_embd.weight"
#: Keys whose number is the one to look at where several make a size.
_FIRST: Final = (
    "attention.head_count_kv", "attention.key_length", "attention.value_length",
    "attention.head_count", "feed_forward_length", "expert_feed_forward_length", "expert_count",
    "embedding_length",
)  # fmt: skip
_MAX_VALUE: Final = 60


class GgufFile(NamedTuple):
    """The key-values of the first split and all tensors, with their row-major shapes."""

    architecture: str
    metadata: Mapping[str, object]
    shapes: Mapping[str, tuple[int, ...]]
    path: str


def is_gguf_model(evidence: Evidence) -> bool:
    """Whether the files say that they are a model, and of an architecture that llama.cpp has."""
    shards = evidence.checkpoint.shards
    if evidence.checkpoint.format != "gguf" or not shards:
        return False
    metadata = _first(shards).metadata
    facts = describe(metadata)
    if facts.type != MODEL or evidence.layout == "adapter":
        return False
    return facts.architecture is not None and is_known(facts.architecture)


def gguf_problems(evidence: Evidence) -> Iterator[Problem]:
    """Why llama.cpp would refuse the files, one problem a cause."""
    if not is_gguf_model(evidence):
        yield from _of_architecture(evidence)
        return
    shards = evidence.checkpoint.shards
    first = _first(shards)
    architecture = describe(first.metadata).architecture or ""
    shapes = {tensor.name: tensor.shape for shard in shards for tensor in shard.tensors}
    file = GgufFile(architecture, first.metadata, shapes, first.file)
    is_complete = not evidence.checkpoint.missing
    yield from _of_splits(shards, first, is_complete)
    yield from _of_types(shards)
    yield from _of_vocabulary(file)
    if not is_complete or first is not shards[0]:
        shapes = {}
    contract = contract_of(architecture, first.metadata, shapes)
    yield from _of_keys(file, contract)
    if is_complete:
        yield from _of_tensors(file, contract)


def _of_architecture(evidence: Evidence) -> Iterator[Problem]:
    """Of a file that says it is a model, and names no architecture that llama.cpp has."""
    shards = evidence.checkpoint.shards
    if evidence.checkpoint.format != "gguf" or not shards or evidence.layout == "adapter":
        return
    first = _first(shards)
    facts = describe(first.metadata)
    if facts.type != MODEL or (facts.architecture is not None and is_known(facts.architecture)):
        return
    key = "general.architecture"
    if facts.architecture is None:
        yield Problem(
            "broken_contract", f"the key-values have no {key}", example=key, file=first.file
        )
        return
    name = clean(facts.architecture, _MAX_VALUE)
    text = f"llama.cpp {release()} has no architecture {name}"
    yield Problem("broken_contract", text, example=key, file=first.file, severity="warning")


def _first(shards: Sequence[Shard]) -> Shard:
    """The split that has the key-values."""
    numbered = (shard for shard in shards if shard.metadata.get("split.no") == 0)
    return next(numbered, shards[0])


# ---- splits


def _of_splits(shards: Sequence[Shard], first: Shard, is_complete: bool) -> Iterator[Problem]:
    count = first.metadata.get("split.count")
    if not isinstance(count, int) or count < 2:
        if len(shards) > 1:
            text = f"{len(shards):,} files are named as splits, and split.count says none"
            yield Problem("broken_contract", text, example="split.count", file=first.file)
        return
    if is_complete and len(shards) != count:
        text = f"split.count says {count:,} files, and there are {len(shards):,}"
        kind: ProblemKind = "missing_files" if len(shards) < count else "broken_contract"
        yield Problem(kind, text, abs(count - len(shards)), "split.count", file=first.file)
        return
    numbers = [shard.metadata.get("split.no") for shard in shards]
    if is_complete and numbers != list(range(count)):
        wrong = next(place for place, number in enumerate(numbers) if number != place)
        text = f"split.no of {shards[wrong].file} is {numbers[wrong]}, and its place is {wrong}"
        cause = "the files were renamed, or one was written twice"
        yield Problem("broken_contract", text, example="split.no", cause=cause,
                      file=shards[wrong].file)  # fmt: skip
    counts = Counter(tensor.name for shard in shards for tensor in shard.tensors)
    twice = [name for name, number in counts.items() if number > 1]
    if twice:
        names, number = of_names(twice)
        text = f"{number:,} tensors are in two splits"
        yield Problem("broken_contract", text, number, names[0], names=names, file=first.file)
    declared = first.metadata.get("split.tensors.count")
    if is_complete and not twice and isinstance(declared, int) and declared != len(counts):
        text = f"split.tensors.count says {declared:,} tensors, and the files have {len(counts):,}"
        yield Problem("broken_contract", text, example="split.tensors.count", file=first.file)


def _of_types(shards: Sequence[Shard]) -> Iterator[Problem]:
    for shard in shards:
        gone = [tensor for tensor in shard.tensors if tensor.dtype in REMOVED_TYPES]
        if gone:
            names, count = of_names([tensor.name for tensor in gone])
            text = f"{count:,} tensors are {gone[0].dtype}, a type that llama.cpp no longer reads"
            yield Problem(
                "broken_contract", text, count, names[0], file=shard.file, names=names,
                fix="requantise from the original, as Q4_0 or IQ4_NL",
            )  # fmt: skip


# ---- vocabulary


def _of_vocabulary(file: GgufFile) -> Iterator[Problem]:
    metadata = file.metadata
    sized = f"{file.architecture}.vocab_size"
    model = metadata.get(_MODEL)
    rows = file.shapes.get(_TABLE, (None,))[0]
    declared = metadata.get(sized)
    if model is None:
        has_any = any(key.startswith("tokenizer.") for key in metadata)
        text = f"the key-values have no {_MODEL}: llama.cpp loads no model without a tokenizer"
        only_weights = isinstance(declared, int) and not has_any
        yield Problem(
            "broken_contract", text, example=_MODEL, file=file.path,
            severity="warning" if only_weights else "error",
        )  # fmt: skip
    elif model not in tokenizer_names("models"):
        text = f"{_MODEL} is {clean(str(model), _MAX_VALUE)}, which llama.cpp {release()} lacks"
        yield Problem("broken_contract", text, example=_MODEL, file=file.path)
    elif model not in _NONE:
        yield from _of_tokens(file, str(model))
    if isinstance(declared, int) and rows is not None and declared != rows:
        text = f"{_TABLE} has {rows:,} rows"
        cause = f"{sized} says {declared:,}"
        yield Problem("wrong_shapes", text, example=_TABLE, cause=cause, file=file.path)


def _of_tokens(file: GgufFile, model: str) -> Iterator[Problem]:
    metadata = file.metadata
    tokens = length_of(metadata.get(_TOKENS))
    if tokens is None:
        text = f"the key-values have no list {_TOKENS}"
        yield Problem("broken_contract", text, example=_TOKENS, file=file.path)
        return
    for kind in ("scores", "token_type"):
        key = f"tokenizer.ggml.{kind}"
        length = length_of(metadata.get(key))
        if length is not None and length < tokens:
            text = f"{key} has {length:,} items for {tokens:,} tokens"
            yield Problem("broken_contract", text, example=key, file=file.path)
    pre = metadata.get(_PRE)
    if model not in _OF_MERGES:
        return
    has_rule = isinstance(pre, str) and pre and model not in _WITHOUT_PRE
    if has_rule and pre not in tokenizer_names("pre"):
        text = f"{_PRE} is {clean(str(pre), _MAX_VALUE)}, which llama.cpp {release()} lacks"
        yield Problem("broken_contract", text, example=_PRE, file=file.path)
    if _MERGES not in metadata and pre != "kimi-k2":
        text = f"the key-values have no {_MERGES}, which a {model} tokenizer needs"
        yield Problem("broken_contract", text, example=_MERGES, file=file.path, severity="warning")


# ---- keys


def _of_keys(file: GgufFile, contract: Contract) -> Iterator[Problem]:
    if contract.keys:
        names, count = of_names(contract.keys)
        what = "a key" if count == 1 else f"{count:,} keys"
        text = f"{what} that llama.cpp requires of {file.architecture} is missing"
        text = text if count == 1 else text.replace(" is missing", " are missing")
        yield Problem(
            "broken_contract", f"{text}: {names[0]}", count, names[0], names=names, file=file.path
        )
    for key, length in contract.uneven.items():
        layers = file.metadata.get(f"{file.architecture}.block_count")
        text = f"{key} has {length:,} items"
        cause = f"{file.architecture}.block_count says {layers}"
        yield Problem("broken_contract", text, example=key, cause=cause, file=file.path)
    if contract.refused:
        keys = contract.refused[0]
        values = ", ".join(f"{key} {_shown(file.metadata.get(key))}" for key in keys)
        text = f"llama.cpp refuses these key-values together: {values}"
        if not keys:
            text = f"llama.cpp refuses the key-values of this {file.architecture}: one is missing"
        names, count = of_names(keys or (f"{file.architecture}.expert_count",))
        yield Problem("broken_contract", text, count, names[0], names=names, file=file.path)


def _shown(value: object) -> str:
    return clean(str(value), _MAX_VALUE)


# ---- tensors


def _of_tensors(file: GgufFile, contract: Contract) -> Iterator[Problem]:
    if contract.missing:
        names, count = of_names(contract.missing)
        are = "tensor is" if count == 1 else "tensors are"
        text = f"{count:,} {are} missing that llama.cpp requires of {file.architecture}"
        cause = _cause_of_missing(file, contract.missing)
        yield Problem(
            "missing_tensors", text, count, names[0], cause=cause, file=file.path, names=names
        )
    yield from _of_shapes(file, contract)
    if contract.surplus:
        names, count = of_names(contract.surplus)
        are = "tensor is" if count == 1 else "tensors are"
        text = f"{count:,} {are} more than llama.cpp's {file.architecture} has"
        cause = _cause_of_surplus(file, contract.surplus)
        yield Problem(
            "broken_contract", text, count, names[0], cause=cause, file=file.path, names=names
        )


def _cause_of_missing(file: GgufFile, missing: Sequence[str]) -> str:
    """Whole layers at the end, by block_count."""
    key = f"{file.architecture}.block_count"
    there = {number for name in file.shapes if (number := _layer(name)) is not None}
    lacking = {number for name in missing if (number := _layer(name)) is not None}
    lost = lacking - there
    if lost and lost == lacking and there and min(lost) > max(there):
        layers = "layer 0" if max(there) == 0 else f"layers 0 to {max(there)}"
        return f"{key} says {_shown(file.metadata.get(key))}, and the file has {layers}"
    experts = f"{file.architecture}.expert_count"
    if any("_exps" in name for name in file.shapes) and experts not in file.metadata:
        return f"the file has experts, and the key-values have no {experts}"
    if any("_exps" in name for name in missing) and experts in file.metadata:
        return f"{experts} says {_shown(file.metadata[experts])}"
    return ""


def _cause_of_surplus(file: GgufFile, surplus: Sequence[str]) -> str:
    key = f"{file.architecture}.block_count"
    layers = file.metadata.get(key)
    numbers = [_layer(name) for name in surplus]
    if isinstance(layers, int) and all(
        number is not None and number >= layers for number in numbers
    ):
        return f"{key} says {layers:,}"
    experts = f"{file.architecture}.expert_count"
    of_experts = all("_exps" in name or "ffn_gate_inp" in name for name in surplus)
    if of_experts and experts not in file.metadata:
        return f"the key-values have no {experts}"
    return "it loads a file only if it uses every tensor"


def _layer(name: str) -> int | None:
    parts = name.split(".", 2)
    return int(parts[1]) if len(parts) == 3 and parts[0] == "blk" and parts[1].isdecimal() else None


def _of_shapes(file: GgufFile, contract: Contract) -> Iterator[Problem]:
    """One problem for all tensors whose sizes come from the same keys."""
    left = dict(contract.reshaped)
    while left:
        example = next(iter(left))
        keys = _blamed(left[example].keys, contract.sound, file)
        alike = [
            name
            for name, other in left.items()
            if name == example or (keys and keys[0] in other.keys)
        ]
        names, count = of_names(alike)
        other = left[example]
        are = "tensor is" if count == 1 else "tensors are"
        text = (
            f"{count:,} {are} of another shape than the key-values make: {example} is "
            f"{shape_text(other.in_file)}, not {shape_text(other.required)}"
        )
        yield Problem(
            "wrong_shapes", text, count, example, cause=_says(file, keys), file=file.path,
            names=names,
        )  # fmt: skip
        for name in alike:
            del left[name]


def _blamed(keys: frozenset[str], sound: frozenset[str], file: GgufFile) -> list[str]:
    """Those that no other tensor agrees with; the likeliest first."""
    apart = keys - sound or keys
    order = {f"{file.architecture}.{key}": place for place, key in enumerate(_FIRST)}
    return sorted(apart, key=lambda key: (order.get(key, -1), key))


def _says(file: GgufFile, keys: Sequence[str]) -> str:
    words = []
    for key in keys[:3]:
        if key == _TOKENS:
            words.append(f"{key} has {length_of(file.metadata.get(key)) or 0:,} tokens")
        else:
            words.append(f"{key} says {_shown(file.metadata.get(key))}")
    return ", ".join(words)
