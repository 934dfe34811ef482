"""HI30x: names and shapes of the tensors against config.json, through the catalog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..architectures.prediction import Prediction, config_dtype
from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..core.results import Expectation, Inspection
from ..core.tensors import TensorInfo, TensorSpec
from ..errors import ConfigError
from ..formats.gguf import describe
from .facts import Copy, Facts, Folder
from .registry import Found, rule

_FLOATS = ("F64", "F32", "F16", "BF16")
_SIXTEEN = ("F16", "BF16")
_LAYER_KEYS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")


class _Compared(NamedTuple):
    """One folder whose config is in the catalog."""

    folder: Folder
    copy: Copy
    inspection: Inspection
    expectation: Expectation
    prediction: Prediction
    specs: Mapping[str, TensorSpec]
    infos: Mapping[str, TensorInfo]


def _compared(facts: Facts) -> Iterator[_Compared]:
    for folder in facts.folders:
        judged, copy = folder.judged, folder.main
        found, prediction = judged.inspection, judged.prediction
        if copy is None or found is None or found.expectation is None or prediction is None:
            continue
        if facts.single and copy.sharded:
            continue
        yield _Compared(
            folder, copy, found, found.expectation, prediction, judged.specs, judged.infos
        )


def _missing(c: _Compared) -> Iterator[TensorSpec]:
    """Parameters that the config promises, no file holds, and no missing file explains."""
    if not c.copy.readable and not c.copy.lost_names:
        return  # which tensors are in the lost files, nobody knows
    lost = set(c.copy.lost_names)
    prefix = f"{c.prediction.family.base_prefix}." if c.prediction.family else "."
    lost |= {name.removeprefix(prefix) for name in lost} | {prefix + name for name in lost}
    for name in c.expectation.missing:
        spec = c.specs[name]
        if spec.role is Role.PARAMETER and name not in lost:
            yield spec


@rule("HI301", "tensor-missing", "error")
def tensor_missing(facts: Facts) -> Iterator[Found]:
    """The config's architecture has a parameter that no file holds.

    Why: it stays as it was initialised, usually at random, and most loaders only warn.

    Fix: complete the checkpoint, or correct the config (model class, number of layers, biases).
    """
    for c in _compared(facts):
        for spec in _missing(c):
            if spec.component is not Component.HEAD:
                shape = _shape(spec.shape)
                yield Found("no file holds it", c.copy.label, spec.name, shape)


@rule("HI302", "tensor-unexpected", "warning")
def tensor_unexpected(facts: Facts) -> Iterator[Found]:
    """A file holds a tensor that the config's architecture does not have.

    Why: loaders drop it; it may be the weight of a layer that the config forgot.

    Fix: correct the config, or delete the tensor.
    """
    for c in _compared(facts):
        for name in c.expectation.unexpected:
            text = f"{c.prediction.architecture} has no such tensor"
            yield Found(text, c.infos[name].file, name)


@rule("HI303", "shape", "error")
def shape(facts: Facts) -> Iterator[Found]:
    """A tensor's shape is not the one that config.json leads to.

    Why: loading fails, or the tensor is left as it was initialised.

    Fix: correct the size in the config, or restore the tensor.
    """
    for c, info, promised in _reshaped(facts):
        if not _is_vocabulary(info, promised) and not _is_key_or_value(info):
            yield _shape_found(c, info, promised)


@rule("HI304", "vocabulary", "error")
def vocabulary(facts: Facts) -> Iterator[Found]:
    """An embedding or a head has another number of rows than the config's vocab_size.

    Why: the vocabulary was resized on one side only; loading fails, or the rows are left as they
    were initialised.

    Fix: set vocab_size to the number of rows, or resize the embedding again and save it.
    """
    for c, info, promised in _reshaped(facts):
        if _is_vocabulary(info, promised):
            yield _shape_found(c, info, promised)
    for folder in facts.folders:
        found = folder.judged.inspection
        said = vocab_size(folder.config)
        if found is None or folder.judged.prediction is not None or said is None:
            continue
        table = token_embedding(found)
        if table is not None and said not in table.shape:
            text = f"has {table.shape[0]:,} rows"
            yield Found(text, table.file, table.name, f"vocab_size is {said:,}")


def _reshaped(facts: Facts) -> Iterator[tuple[_Compared, TensorInfo, tuple[int, ...]]]:
    for c in _compared(facts):
        for name, (_, promised) in c.expectation.reshaped.items():
            if c.infos[name].role is Role.PARAMETER:
                yield c, c.infos[name], promised


def _shape_found(c: _Compared, info: TensorInfo, promised: tuple[int, ...]) -> Found:
    text = f"is {_shape(info.shape)}"
    return Found(text, info.file, info.name, f"{_shape(promised)} by {c.folder.config_path}")


def _is_vocabulary(info: TensorInfo, promised: tuple[int, ...]) -> bool:
    table = info.kind in ("token", "lm_head") or info.component is Component.HEAD
    return table and len(info.shape) == len(promised) and info.shape[1:] == promised[1:]


def _is_key_or_value(info: TensorInfo) -> bool:
    return info.kind in ("key", "value", "qkv")


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(str(int(size)) for size in shape) or "scalar"


@rule("HI306", "kv-heads", "error")
def kv_heads(facts: Facts) -> Iterator[Found]:
    """Key or value projections are of another size than the config's heads make them.

    Why: num_key_value_heads or head_dim in the config are not those of the weights; the cache
    would be of the wrong size even where loading succeeds.

    Fix: correct num_attention_heads, num_key_value_heads or head_dim.
    """
    for c, info, promised in _reshaped(facts):
        if _is_key_or_value(info):
            yield _shape_found(c, info, promised)


@rule("HI305", "layers", "error")
def layers(facts: Facts) -> Iterator[Found]:
    """The files hold another number of layers than the config says.

    Why: surplus layers are dropped without a word, absent ones are left as they were initialised.

    Fix: correct the number of layers in the config, or complete the checkpoint.
    """
    for folder in facts.folders:
        copy, found = folder.main, folder.judged.inspection
        if copy is None or not copy.readable or (facts.single and copy.sharded):
            continue
        if copy.format == "gguf":
            yield from _gguf_layers(copy)
        elif found is not None:
            yield from _layers(folder, copy, found)


def _layers(folder: Folder, copy: Copy, found: Inspection) -> Iterator[Found]:
    held = _stacks(found.tensors)
    if folder.judged.prediction is not None:
        for stack, count in _stacks(folder.judged.prediction.specs).items():
            saved = _stacks(folder.judged.prediction.tensors).get(stack, count)
            have = held.get(stack, 0)
            if have and have not in (count, saved) and not (saved <= have <= count):
                text = f"{have:,} layers in {stack}"
                yield Found(text, copy.label, None, f"{saved:,} by {folder.config_path}")
        return
    said = _number(folder.config, *_LAYER_KEYS)
    most = max(held.items(), key=lambda item: item[1], default=None)
    if said is not None and most is not None and said != most[1]:
        text = f"{most[1]:,} layers in {most[0]}"
        yield Found(text, copy.label, None, f"{said:,} by {folder.config_path}", "warning")


def _gguf_layers(copy: Copy) -> Iterator[Found]:
    shards = [file.shard for file in copy.files if file.shard is not None]
    said = next((n for n in (describe(s.metadata).layers for s in shards) if n is not None), None)
    numbers = {
        int(parts[1])
        for name in copy.tensors
        if len(parts := name.split(".", 2)) == 3 and parts[0] == "blk" and parts[1].isdecimal()
    }
    if said is not None and numbers and max(numbers) + 1 != said:
        yield Found(f"{max(numbers) + 1:,} layers", copy.label, None, f"{said:,} by block_count")


def _stacks(tensors: Iterator[TensorSpec] | tuple[TensorSpec | TensorInfo, ...]) -> dict[str, int]:
    """Name of a list of layers -> its highest number plus one."""
    found: dict[str, int] = {}
    for tensor in tensors:
        if tensor.stack is not None and tensor.layer is not None:
            found[tensor.stack] = max(tensor.layer + 1, found.get(tensor.stack, 0))
    return found


@rule("HI307", "dtype", "warning")
def dtype(facts: Facts) -> Iterator[Found]:
    """Most weights are of another dtype than the config says.

    Why: with dtype="auto" the model is loaded in the config's, so it is cast without a word.

    Fix: correct `dtype` (formerly `torch_dtype`) in the config, or save the weights in it.
    """
    for folder, said, counts in _dtypes(facts):
        most = max(counts, key=lambda name: counts[name])
        if most != said and not (most == "F32" and said in _SIXTEEN):
            text = f"most weights are {most}"
            yield Found(text, folder.main.label if folder.main else None, None, said)


@rule("HI308", "mixed-precision", "note")
def mixed_precision(facts: Facts) -> Iterator[Found]:
    """The weights are of several float dtypes.

    Why: it is often meant (routers, norms and state-space parameters in float32), and sometimes
    one shard that was saved differently.

    Fix: none needed if it is meant.
    """
    for folder, _, counts in _dtypes(facts):
        if len(counts) > 1:
            shown = ", ".join(f"{count:,} parameters {name}" for name, count in counts.items())
            yield Found(shown, folder.main.label if folder.main else None)


def _dtypes(facts: Facts) -> Iterator[tuple[Folder, str | None, Mapping[str, int]]]:
    """(folder, the config's dtype, parameters by float dtype) where weights are plain floats."""
    for folder in facts.folders:
        found = folder.judged.inspection
        if found is None or folder.config is None or "quantization_config" in folder.config:
            continue
        counts: Counter[str] = Counter()
        for info in found.tensors:
            if info.dtype in _FLOATS and info.role is Role.PARAMETER:
                counts[info.dtype] += info.elements
        said = said_dtype(folder.config)
        if counts and said is not None:
            yield folder, said, dict(counts.most_common())


def said_dtype(config: Mapping[str, object] | None) -> str | None:
    """The config's dtype in the spelling of safetensors, None where it has none."""
    try:
        return config_dtype(ModelConfig(config)) if config is not None else None
    except ConfigError:
        return None


@rule("HI309", "tied-stored-twice", "note")
def tied_stored_twice(facts: Facts) -> Iterator[Found]:
    """A head that the config ties to the embedding is stored beside it.

    Why: it takes its size again; loaders ignore it, so a head that was trained apart is lost.

    Fix: leave it out, or set tie_word_embeddings to false if it is meant to differ.
    """
    for folder in facts.folders:
        found, copy = folder.judged.inspection, folder.main
        if found is None or copy is None or copy.format != "safetensors":
            continue
        for finding in found.findings:
            if finding.rule == "tied-stored-twice" and finding.tensor is not None:
                path = copy.file_of.get(finding.tensor)
                kept = found.tied.get(finding.tensor)
                yield Found(f"is tied to {kept}", path, finding.tensor, "stored once")


@rule("HI310", "head-missing", "error")
def head_missing(facts: Facts) -> Iterator[Found]:
    """The config's model class has a head of its own that no file holds.

    Why: the head is initialised at random; the config says that it is not tied, or the checkpoint
    is that of the base model.

    Fix: set tie_word_embeddings to true if it was tied, name the base class in `architectures`,
    or complete the checkpoint.
    """
    for c in _compared(facts):
        for spec in _missing(c):
            if spec.component is Component.HEAD:
                text = f"{c.prediction.architecture} has it, and no file holds it"
                yield Found(text, c.copy.label, spec.name, _shape(spec.shape))


@rule("HI323", "config", "error")
def config_key(facts: Facts) -> Iterator[Found]:
    """A key of config.json is missing or impossible for the model it names.

    Why: the model cannot be built, or is built with a default that does not fit the weights.

    Fix: correct the key.
    """
    for folder in facts.folders:
        error = folder.judged.config_error
        if error is not None:
            yield Found(f"{error.subject} {error.found}", folder.config_path, None, error.expected)


# ---- shared with the other HI3 rules


def _number(config: Mapping[str, object] | None, *keys: str) -> int | None:
    """The first of the keys that is a positive whole number, at the top or under text_config."""
    if config is None:
        return None
    inner = config.get("text_config")
    for place in (config, inner if isinstance(inner, dict) else {}):
        for key in keys:
            value = place.get(key)
            if type(value) is int and value > 0:
                return value
    return None


def vocab_size(config: Mapping[str, object] | None) -> int | None:
    """The config's vocab_size, also where it is nested; None where it has none."""
    return _number(config, "vocab_size")


def token_embedding(inspection: Inspection) -> TensorInfo | None:
    """The table of token embeddings: by its label, else by the names that most models use."""
    for info in inspection.tensors:
        if info.kind == "token" and info.part == "text" and len(info.shape) == 2:
            return info
    for info in inspection.tensors:
        known = info.name.endswith(_EMBEDDINGS) or f".{info.name}".endswith(_EMBEDDINGS)
        if known and len(info.shape) == 2 and info.part == "text":
            return info
    return None


_EMBEDDINGS = (
    ".embed_tokens.weight", ".wte.weight", ".word_embeddings.weight", ".tok_embeddings.weight",
    ".embed_in.weight",
)  # fmt: skip
