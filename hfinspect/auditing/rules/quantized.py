"""HI311 to HI313: packed weights against what the config says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...core.tensor import StoredTensor
from ..facts.target import Copy, Facts, Folder
from ..registry import Found, rule

#: Last segments of names that only packed modules have, by the methods that write them.
_PACKED = (
    "qweight", "qzeros", "weight_packed", "absmax", "quant_map", "SCB", "weight_scale_inv",
    "weight_scale", "weight_scale_2", "W_q", "codebooks", "codes", "weight_zero_point",
)  # fmt: skip
_PACKED_ENDINGS = ("_blocks", "_scale_inv", "_weight_scale")
_SMALL_DTYPES = ("U8", "I8", "I32", "U32", "F4")

#: Methods whose checkpoints are packed; with others the loader packs plain weights itself.
_MUST_BE_PACKED = frozenset({"gptq", "awq", "compressed-tensors", "modelopt", "mxfp4", "fp8"})

#: Bits of one packed 32-bit word.
_WORD = 32


def _settings(folder: Folder) -> Mapping[str, object] | None:
    """What config.json or a file next to it says of the quantisation."""
    for config in (folder.config, _inner(folder.config)):
        found = config.get("quantization_config") if config is not None else None
        if isinstance(found, dict):
            return found
    for name in ("hf_quant_config.json", "quantize_config.json", "quant_config.json",
                 "quantization_config.json"):  # fmt: skip
        found = folder.mapping(name)
        if found is not None:
            return found
    return None


def _inner(config: Mapping[str, object] | None) -> Mapping[str, object] | None:
    found = config.get("text_config") if config is not None else None
    return found if isinstance(found, dict) else None


def _is_packed(tensor: StoredTensor) -> bool:
    last = tensor.name.rpartition(".")[2]
    return (
        last in _PACKED
        or last.endswith(_PACKED_ENDINGS)
        or ".quant_state." in tensor.name
        or (tensor.dtype.startswith("F8_") and len(tensor.shape) > 1)
    )


def _weights(facts: Facts) -> Iterator[tuple[Folder, Copy]]:
    for folder in facts.folders:
        copy = folder.main
        if copy is None or not folder.config or (facts.single and copy.sharded):
            continue
        if copy.format in ("safetensors", "torch"):
            yield folder, copy


@rule("HI311", "not-quantised", "error")
def not_quantised(facts: Facts) -> Iterator[Found]:
    """The config says that the weights are quantised, and no tensor is packed.

    Why: loaders replace the layers by packed ones and find no weights for them.

    Fix: remove quantization_config from the config, or put the quantised weights in place.
    """
    for folder, copy in _weights(facts):
        settings = _settings(folder)
        if settings is None or not copy.readable:
            continue
        if any(_is_packed(t) or _is_small(t) for t in copy.tensors.values()):
            continue
        method = settings.get("quant_method")
        must = isinstance(method, str) and method in _MUST_BE_PACKED
        text = f"quantization_config says {method!s:.40}, and no tensor is packed"
        yield Found(text, folder.config_path, severity=None if must else "warning")


def _is_small(tensor: StoredTensor) -> bool:
    return tensor.dtype in _SMALL_DTYPES and len(tensor.shape) > 1


@rule("HI312", "quantisation-unsaid", "error")
def quantisation_unsaid(facts: Facts) -> Iterator[Found]:
    """Tensors are packed, and no config says how.

    Why: loaders build plain layers and find no weights for them.

    Fix: restore quantization_config in config.json.
    """
    for folder, copy in _weights(facts):
        if _settings(folder) is not None:
            continue
        packed = [t.name for t in copy.tensors.values() if _is_packed(t)]
        if packed:
            text = f"{len(packed):,} tensors are packed, and quantization_config is missing"
            yield Found(text, folder.config_path, packed[0])


@rule("HI313", "packing", "error")
def packing(facts: Facts) -> Iterator[Found]:
    """Bits or group size in the config contradict the shapes of packed tensors.

    Why: every weight is unpacked wrongly, or loading fails.

    Fix: correct bits and group_size in quantization_config.
    """
    for folder, copy in _weights(facts):
        seen = set()
        for found in _by_shapes(folder, copy):
            seen.add(found.tensor)
            yield found
        for finding in folder.judged.decoding.findings:
            if finding.rule == "quantization-mismatch" and finding.tensor not in seen:
                file = copy.file_of.get(finding.tensor or "", copy.label)
                yield Found(finding.text, file, finding.tensor)


def _by_shapes(folder: Folder, copy: Copy) -> Iterator[Found]:
    """What scales and g_idx say of bits and group size, for the two plain layouts of words."""
    settings = _settings(folder) or {}
    method, bits = settings.get("quant_method"), settings.get("bits", settings.get("w_bit"))
    group = _group(settings)
    if type(bits) is not int or not 0 < bits <= _WORD or method not in ("gptq", "awq"):
        return
    if settings.get("dynamic") or str(settings.get("version", "gemm")).lower() != "gemm":
        return  # bits by module, or AWQ's other order
    for name, qweight in copy.tensors.items():
        if not name.endswith(".qweight") or len(qweight.shape) != 2:
            continue
        module = name.removesuffix(".qweight")
        found = _contradiction(copy.tensors, module, qweight, bits, group, method == "awq")
        if found is not None:
            yield Found(found[0], copy.file_of[name], name, found[1])


def _group(settings: Mapping[str, object]) -> int | None:
    value = settings.get("group_size", settings.get("q_group_size"))
    return value if type(value) is int else None


def _contradiction(
    tensors: Mapping[str, StoredTensor],
    module: str,
    qweight: StoredTensor,
    bits: int,
    group: int | None,
    is_awq: bool,
) -> tuple[str, str] | None:
    """(found, expected) where scales and g_idx do not fit the packed weight.

    GPTQ packs along the input: qweight (in·bits/32, out), scales (in/group, out), g_idx (in,).
    AWQ packs along the output: qweight (in, out·bits/32), scales (in/group, out).
    """
    scales = tensors.get(f"{module}.scales")
    index = tensors.get(f"{module}.g_idx")
    rows, columns = qweight.shape
    inputs = rows if is_awq else rows * _WORD // bits
    outputs = columns * _WORD // bits if is_awq else columns
    shape = f"is {rows}x{columns}"
    if index is not None and not is_awq and index.shape != (inputs,):
        return f"{shape}, which is {inputs:,} inputs at {bits} bits", f"{index.elements:,} by g_idx"
    if scales is None or len(scales.shape) != 2:
        return None
    if scales.shape[1] != outputs:
        return f"{shape}, which is {outputs:,} outputs at {bits} bits", (
            f"{scales.shape[1]:,} by scales"
        )
    if group is not None:
        groups = 1 if group <= 0 else -(-inputs // group)
        if scales.shape[0] != groups:
            return f"{shape} with {scales.shape[0]:,} groups of scales", (
                f"{groups:,} for {inputs:,} inputs in groups of {group}"
            )
    return None
