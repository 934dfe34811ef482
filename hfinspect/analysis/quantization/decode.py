"""From a checkpoint's headers to the meaning of its tensors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...core.checkpoint import Finding, Shard
from ...core.components import Role
from ...core.results import Quantization
from ...core.tensor import StoredTensor
from ...trees.prediction import Prediction
from ..labels.by_name import labels_of
from ..labels.lookup import spec_finder
from ..tensor_table import TensorTable
from .declared import Declared, declared_in, group_size_of
from .decoding import Decoding, Modules, Sheet
from .registry import find_method, method_by_names

#: Dtypes that nobody keeps unquantised weights in.
_PACKED_DTYPES = frozenset({"I8", "U8", "I16", "U16", "I32", "U32"})


#: Methods whose config or metadata has settings of single modules.
_BY_NAME = frozenset({"mlx", "metal", "torchao"})


def decode(
    table: TensorTable,
    config: Mapping[str, object] | None,
    companions: Mapping[str, Mapping[str, object]],
    prediction: Prediction | None,
) -> Decoding:
    """What packed tensors and their bookkeeping stand for.

    ``companions`` are hf_quant_config.json and quantize_config.json where there are. Pure; of bad
    input raises nothing: what cannot be known is unknown in the result and named in its findings.
    Raises NotAlikeError where the tensors of a group have to be looked at one by one.
    """
    shards = table.shards
    if shards and all(shard.format == "gguf" for shard in shards):
        from .ggml import decode as decode_ggml

        return decode_ggml(shards)
    declared = declared_in(config, companions)
    guessed = "" if declared.method else method_by_names(_suffixes(shards), _dtypes(shards))
    if declared.method or guessed:
        method = declared.method or guessed
        decoding = _decode(table, declared, method, prediction)
        if declared.method or decoding.tensors:
            if method in _BY_NAME or _of_single_tensors(decoding.findings):
                table.look_at_each()
            return decoding
    findings = tuple(_integer_weights(shards))
    if findings:
        table.look_at_each()
    return Decoding(findings=findings)


def _of_single_tensors(findings: Iterable[Finding]) -> bool:
    return any(finding.tensor is not None for finding in findings)


def _decode(
    table: TensorTable, declared: Declared, method: str, prediction: Prediction | None
) -> Decoding:
    shards = table.shards
    find = spec_finder(prediction)

    def predicted(name: str) -> int | None:
        spec = find(name)
        return spec.parameters if spec is not None and spec.parameters else None

    sheet = Sheet(predicted, _metadata(shards) if method == "torchao" else {}, table)
    modules = Modules(table)
    read = find_method(method)
    if read is None:
        text = (
            f"{declared.where} names the method {method!r:.80}, which is not known: its scales "
            "and tables may be counted as parameters"
        )
        sheet.note("unknown-quantization", text, None)
        from .scaled_weights import read_floats

        read_floats(modules, declared, sheet)
    else:
        read(modules, declared, sheet)
    if not declared.method:
        text = f"the weights are packed as {method} does, by names and shapes: no config says"
        sheet.note("undeclared-quantization", text, None, "note")
    for tensor in _left_over(shards, sheet):
        spec = find(tensor.name)
        if spec is None or spec.role is Role.PARAMETER:
            sheet.unknown(
                tensor, tensor.name, f"{tensor.dtype} does not match any known {method} layout"
            )
    if read is not None and not sheet.tensors and shards:
        text = f"{declared.where} names {method}, but no tensor is packed that way"
        sheet.note("not-quantized", text, None, "note")
    return Decoding(sheet.tensors, _summary(declared, method, sheet), sheet.all_findings())


def _metadata(shards: Sequence[Shard]) -> Mapping[str, object]:
    merged: dict[str, object] = {}
    for shard in shards:
        merged.update(shard.metadata)
    return merged


def _suffixes(shards: Sequence[Shard]) -> frozenset[str]:
    """The last segments of all names."""
    return frozenset(tensor[0].rpartition(".")[2] for shard in shards for tensor in shard.tensors)


def _dtypes(shards: Sequence[Shard]) -> frozenset[str]:
    return frozenset(tensor.dtype for shard in shards for tensor in shard.tensors)


def _left_over(shards: Sequence[Shard], sheet: Sheet) -> Iterator[StoredTensor]:
    """Tensors of packed dtypes that no layout explains."""
    for shard in shards:
        for tensor in shard.tensors:
            if tensor[1] not in _PACKED_DTYPES or tensor[0] in sheet.tensors:
                continue
            if tensor.shape and labels_of(tensor.name).role is Role.PARAMETER:
                yield tensor


def _integer_weights(shards: Sequence[Shard]) -> Iterator[Finding]:
    """Matrices of integers in a checkpoint that nothing calls quantised."""
    matrices = [
        tensor.name
        for shard in shards
        for tensor in shard.tensors
        if tensor.dtype in _PACKED_DTYPES
        and len(tensor.shape) == 2
        and tensor.name.endswith("weight")
    ]
    if matrices:
        text = (
            f"{matrices[0]} and {len(matrices) - 1:,} more are matrices of integers although "
            "nothing calls the model quantised; they are counted as stored"
        )
        yield Finding("integer-weights", text, tensor=matrices[0])


def _summary(declared: Declared, method: str, sheet: Sheet) -> Quantization | None:
    if not sheet.tensors and not declared.method:
        return None
    known = {bits: parameters for bits, parameters in sheet.widths.items() if bits is not None}
    single = len(known) == 1 and None not in sheet.widths
    return Quantization(
        method=method,
        bits=next(iter(known)) if single else None,
        packed_parameters=None if sheet.has_unknown else sum(sheet.widths.values()),
        packed_bytes=sheet.roles.get("weights", 0),
        roles=sheet.roles,
        scheme=", ".join(sorted(sheet.schemes)),
        widths={str(bits): parameters for bits, parameters in sorted(known.items())},
        group_size=group_size_of(declared),
        declared_in=declared.where,
    )
