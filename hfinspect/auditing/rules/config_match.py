"""HI30x: names and shapes of the tensors against config.json, through the catalog."""

from collections.abc import Iterable, Iterator

from ...analysis.vocabulary_rows import config_number, token_embedding, vocab_size
from ...core.components import Component
from ...core.results import Inspection
from ...core.tensor import TensorInfo, TensorSpec
from ...core.text import shape_text
from ...formats.gguf.gguf import describe
from ..facts.compared import (
    Compared,
    compared,
    is_another,
    missing_of,
    reshaped_parameters,
    unexpected_names,
)
from ..facts.target import Copy, Folder, TargetFacts
from ..registry import RuleFinding, rule

_LAYER_KEYS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")


@rule("HI301", "tensor-missing", "error")
def tensor_missing(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The config's architecture has a parameter that no file holds.

    Why: it stays as it was initialised, usually at random, and most loaders only warn.

    Fix: complete the checkpoint, or correct the config (model class, number of layers, biases).
    """
    for c in compared(facts):
        yield from missing_of(c, head=False)


@rule("HI302", "tensor-unexpected", "warning")
def tensor_unexpected(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A file holds a tensor that the config's architecture does not have.

    Why: loaders drop it; it may be the weight of a layer that the config forgot.

    Fix: correct the config, or delete the tensor.
    """
    for c in compared(facts):
        packed = c.inspection.quantization is not None
        for name in () if is_another(c) else unexpected_names(c):
            text = f"{c.prediction.architecture} has no such tensor"
            # GPTQ's packer writes a bias of zeros for every layer, whether it has one or not.
            severity = "note" if packed and name.endswith(".bias") else None
            yield RuleFinding(text, c.infos[name].file, name, severity=severity)


@rule("HI303", "shape", "error")
def shape(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A tensor's shape is not the one that config.json leads to.

    Why: loading fails, or the tensor is left as it was initialised.

    Fix: correct the size in the config, or restore the tensor.
    """
    for c, info, predicted in reshaped_parameters(facts):
        if not _is_vocabulary(info, predicted) and not _is_key_or_value(info):
            yield _shape_finding(c, info, predicted)


@rule("HI304", "vocabulary", "error")
def vocabulary(facts: TargetFacts) -> Iterator[RuleFinding]:
    """An embedding or a head has another number of rows than the config's vocab_size.

    Why: the vocabulary was resized on one side only; loading fails, or the rows are left as they
    were initialised.

    Fix: set vocab_size to the number of rows, or resize the embedding again and save it.
    """
    for c, info, predicted in reshaped_parameters(facts):
        if _is_vocabulary(info, predicted):
            yield _shape_finding(c, info, predicted)
    for folder in facts.folders:
        inspection = folder.judged.inspection
        declared = vocab_size(folder.config)
        if inspection is None or folder.judged.prediction is not None or declared is None:
            continue
        table = token_embedding(inspection)
        if table is not None and declared not in table.shape:
            text = f"has {table.shape[0]:,} rows"
            yield RuleFinding(text, table.file, table.name, f"vocab_size is {declared:,}")


def _shape_finding(c: Compared, info: TensorInfo, predicted: tuple[int, ...]) -> RuleFinding:
    text = f"is {shape_text(info.shape)}"
    return RuleFinding(
        text, info.file, info.name, f"{shape_text(predicted)} by {c.folder.config_path}"
    )


def _is_vocabulary(info: TensorInfo, predicted: tuple[int, ...]) -> bool:
    table = info.kind in ("token", "lm_head") or info.component is Component.HEAD
    return table and len(info.shape) == len(predicted) and info.shape[1:] == predicted[1:]


def _is_key_or_value(info: TensorInfo) -> bool:
    return info.kind in ("key", "value", "qkv")


@rule("HI306", "kv-heads", "error")
def kv_heads(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Key or value projections are of another size than the config's heads make them.

    Why: num_key_value_heads or head_dim in the config are not those of the weights; the cache
    would be of the wrong size even where loading succeeds.

    Fix: correct num_attention_heads, num_key_value_heads or head_dim.
    """
    for c, info, predicted in reshaped_parameters(facts):
        if _is_key_or_value(info):
            yield _shape_finding(c, info, predicted)


@rule("HI305", "layers", "error")
def layers(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The files hold another number of layers than the config says.

    Why: surplus layers are dropped without a word, absent ones are left as they were initialised.

    Fix: correct the number of layers in the config, or complete the checkpoint.
    """
    for folder in facts.folders:
        copy = folder.main
        inspection = folder.judged.inspection
        if copy is None or not copy.readable or (facts.single and copy.sharded):
            continue
        if copy.format == "gguf":
            if not folder.judged.gguf_problems:
                yield from _gguf_layers(copy)
        elif inspection is not None:
            yield from _layers(folder, copy, inspection)


def _layers(folder: Folder, copy: Copy, inspection: Inspection) -> Iterator[RuleFinding]:
    stacks = _stacks(inspection.tensors)
    if folder.judged.prediction is not None:
        for stack, count in _stacks(folder.judged.prediction.specs).items():
            saved = _stacks(folder.judged.prediction.tensors).get(stack, count)
            have = stacks.get(stack, 0)
            if have and have not in (count, saved) and not (saved <= have <= count):
                text = f"{have:,} layers in {stack}"
                yield RuleFinding(text, copy.label, None, f"{saved:,} by {folder.config_path}")
        return
    declared = config_number(folder.config, *_LAYER_KEYS)
    most = max(stacks.items(), key=lambda item: item[1], default=None)
    if declared is not None and most is not None and declared != most[1]:
        text = f"{most[1]:,} layers in {most[0]}"
        yield RuleFinding(
            text, copy.label, None, f"{declared:,} by {folder.config_path}", "warning"
        )


def _gguf_layers(copy: Copy) -> Iterator[RuleFinding]:
    shards = [file.shard for file in copy.files if file.shard is not None]
    declared = next(
        (n for n in (describe(s.metadata).layers for s in shards) if n is not None), None
    )
    numbers = {
        int(parts[1])
        for name in copy.tensors
        if len(parts := name.split(".", 2)) == 3 and parts[0] == "blk" and parts[1].isdecimal()
    }
    if declared is not None and numbers and max(numbers) + 1 != declared:
        yield RuleFinding(
            f"{max(numbers) + 1:,} layers", copy.label, None, f"{declared:,} by block_count"
        )


def _stacks(tensors: Iterable[TensorSpec | TensorInfo]) -> dict[str, int]:
    """Name of a list of layers -> its highest number plus one."""
    stacks: dict[str, int] = {}
    for tensor in tensors:
        if tensor.stack is not None and tensor.layer is not None:
            stacks[tensor.stack] = max(tensor.layer + 1, stacks.get(tensor.stack, 0))
    return stacks


@rule("HI309", "tied-stored-twice", "note")
def tied_stored_twice(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A head that the config ties to the embedding is stored next to it.

    Why: it takes its size again; loaders ignore it, so a head that was trained apart is lost.

    Fix: leave it out, or set tie_word_embeddings to false if it is meant to differ.
    """
    for folder in facts.folders:
        inspection = folder.judged.inspection
        copy = folder.judged.copy
        if inspection is None or copy is None or copy.format != "safetensors":
            continue
        for finding in inspection.findings:
            if finding.rule == "tied-stored-twice" and finding.tensor is not None:
                path = copy.file_of.get(finding.tensor)
                keeper = inspection.tied.get(finding.tensor)
                yield RuleFinding(f"is tied to {keeper}", path, finding.tensor, "stored once")


@rule("HI310", "head-missing", "error")
def head_missing(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The config's model class has a head of its own that no file holds.

    Why: the head is initialised at random; the config says that it is not tied, or the checkpoint
    is that of the base model.

    Fix: set tie_word_embeddings to true if it was tied, name the base class in `architectures`,
    or complete the checkpoint.
    """
    for c in compared(facts):
        yield from missing_of(c, head=True)


@rule("HI323", "config", "error")
def config_key(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A key of config.json is missing or impossible for the model it names.

    Why: the model cannot be built, or is built with a default that does not fit the weights.

    Fix: correct the key.
    """
    for folder in facts.folders:
        error = folder.judged.config_error
        if error is not None:
            yield RuleFinding(
                f"{error.subject} {error.found}", folder.config_path, None, error.expected
            )
