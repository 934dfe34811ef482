"""HI311 to HI313: packed weights against what the config says of them."""

from collections.abc import Iterator, Mapping, Set

from ...analysis.quantization.declared import declared_in
from ...analysis.quantization.decoding import Holds
from ...analysis.quantization.packed_names import MUST_BE_PACKED, is_packed, is_small
from ...analysis.quantization.packing import Packing
from ...checkpoints.json_files import QUANTIZATION_FILES
from ...core.tensor import StoredTensor, TensorSpec
from ...core.text import shape_text
from ..facts.target import Copy, Folder, TargetFacts
from ..registry import RuleFinding, rule

#: Parts of the names of factors that weights are unpacked without.
_OPTIONAL = ("input", "output", "activation", "k_scale", "v_scale")

#: Bits of one packed 32-bit word.
_WORD = 32


def _settings(folder: Folder) -> Mapping[str, object] | None:
    """What config.json or a file next to it says of the quantisation."""
    files = {
        name: mapping
        for name in QUANTIZATION_FILES
        if (mapping := folder.mapping(name)) is not None
    }
    declared = declared_in(folder.config, files)
    if declared.method:
        return declared.values
    in_config = (folder.config or {}).get("quantization_config")
    if isinstance(in_config, dict):
        return in_config
    others = (folder.mapping(name) for name in ("quant_config.json", "quantization_config.json"))
    return next((other for other in others if other is not None), None)


def _is_packed(tensor: StoredTensor) -> bool:
    return is_packed(tensor.name, tensor.dtype, tensor.shape)


def _weights(facts: TargetFacts) -> Iterator[tuple[Folder, Copy]]:
    for folder in facts.folders:
        copy = folder.judged.copy or folder.main
        if copy is None or not folder.config or (facts.single and copy.sharded):
            continue
        if copy.format in ("safetensors", "torch"):
            yield folder, copy


@rule("HI311", "not-quantised", "error")
def not_quantised(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The config says that the weights are quantised, and no tensor is packed.

    Why: loaders replace the layers by packed ones and find no weights for them.

    Fix: remove quantization_config from the config, or put the quantised weights in place.
    """
    for folder, copy in _weights(facts):
        settings = _settings(folder)
        if settings is None or not copy.readable:
            continue
        if any(_is_packed(t) or is_small(t.dtype, t.shape) for t in copy.tensors.values()):
            continue
        if _packs_nothing(folder):
            continue
        method = settings.get("quant_method")
        must = isinstance(method, str) and method in MUST_BE_PACKED
        text = f"quantization_config says {method!s:.40}, and no tensor is packed"
        yield RuleFinding(text, folder.config_path, severity=None if must else "warning")


def _packs_nothing(folder: Folder) -> bool:
    """Whether the config names a method and excludes every module that it could pack."""
    packing = folder.judged.packing
    if packing is None or packing.specs is None:
        return False
    return all(spec.packed is None for spec, _ in packing.tensors.counted())


@rule("HI312", "quantisation-unsaid", "error")
def quantisation_unsaid(facts: TargetFacts) -> Iterator[RuleFinding]:
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
            yield RuleFinding(text, folder.config_path, packed[0])


@rule("HI313", "packing", "error")
def packing(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Packed tensors are not those that the config's method, bits and group size lead to.

    Why: every weight is unpacked wrongly, or loading fails.

    Fix: correct bits and group_size in quantization_config, or restore the tensor.
    """
    for folder, copy in _weights(facts):
        seen: set[str | None] = set()
        for contradiction in _by_shapes(folder, copy):
            seen.add(contradiction.tensor)
            yield contradiction
        for finding in folder.judged.decoding.findings:
            if finding.rule == "quantization-mismatch" and finding.tensor not in seen:
                file = copy.file_of.get(finding.tensor or "", copy.label)
                seen.add(finding.tensor)
                yield RuleFinding(finding.text, file, finding.tensor)
        yield from _by_prediction(folder, copy, {_module(name) for name in seen if name})


def _by_prediction(folder: Folder, copy: Copy, seen: Set[str]) -> Iterator[RuleFinding]:
    """Modules whose packed weight is there: what is missing next to it or of another shape.

    A weight that is stored as it was is not listed here: which modules a tool left out is the part
    of a config that is most often incomplete. Factors of activations and of the cache are optional
    to loaders, and so is the order of GPTQ's groups.
    """
    packing = folder.judged.packing
    inspection = folder.judged.inspection
    if packing is None or packing.specs is None or not copy.readable:
        return
    reshaped = (
        inspection.expectation.reshaped if inspection is not None and inspection.expectation else {}
    )
    seen = seen | {_module(name) for name in reshaped}
    specs_of: dict[str, list[TensorSpec]] = {}
    for spec in packing.tensors:
        if spec.packed is not None and not spec.packed.varies and _module(spec.name) not in seen:
            specs_of.setdefault(_module(spec.name), []).append(spec)
    others = _other_layouts(packing, copy)
    for module, specs in specs_of.items():
        if module in others or not any(_is_stored_packed(spec, copy) for spec in specs):
            continue
        for spec in specs:
            stored = copy.tensors.get(spec.name)
            expected = shape_text(spec.shape)
            if stored is not None:
                if _differ(spec, stored):
                    text = f"is {shape_text(stored.shape)}"
                    where = f"{expected} by quantization_config"
                    yield RuleFinding(text, copy.file_of[spec.name], spec.name, where)
            elif _is_needed(spec, module):
                text = "no file holds it, and the packed weight next to it needs it"
                yield RuleFinding(text, copy.label, spec.name, expected)


def _other_layouts(packing: Packing, copy: Copy) -> set[str]:
    """Modules whose files follow another writer of the same method: with factors of other names, or
    with integers where floats are predicted."""
    predicted = {spec.name: spec for spec in packing.tensors}
    layouts = set()
    for name, stored in copy.tensors.items():
        spec = predicted.get(name)
        if spec is None:
            is_other = not name.endswith(".bias")
        else:
            is_other = spec.packed is not None and _is_integer(spec.dtype) != _is_integer(
                stored.dtype
            )
        if is_other:
            layouts.add(_module(name))
    return layouts


def _is_integer(dtype: str | None) -> bool:
    """Whether it is one of integers; None is the model's own, of floats."""
    return dtype is not None and dtype[0] in "UI"


def _module(name: str) -> str:
    return name.rpartition(".")[0]


def _is_stored_packed(spec: TensorSpec, copy: Copy) -> bool:
    """Whether ``spec`` is a packed weight that a file holds in the predicted dtype."""
    stored = copy.tensors.get(spec.name)
    is_weight = spec.packed is not None and spec.packed.holds == Holds.WEIGHTS.value
    return is_weight and stored is not None and stored.dtype == spec.dtype


def _differ(spec: TensorSpec, stored: StoredTensor) -> bool:
    """Whether the shapes do, sizes of one aside; a scale for the whole matrix may be finer."""
    expected = [size for size in spec.shape if size != 1]
    return bool(expected) and expected != [size for size in stored.shape if size != 1]


def _is_needed(spec: TensorSpec, module: str) -> bool:
    """Whether the weight cannot be unpacked without it."""
    assert spec.packed is not None
    last = spec.name.removeprefix(f"{module}.")
    if spec.packed.holds not in (Holds.SCALES.value, Holds.ZERO_POINTS.value):
        return False
    return not any(mark in last for mark in _OPTIONAL)


def _by_shapes(folder: Folder, copy: Copy) -> Iterator[RuleFinding]:
    """What scales and g_idx say of bits and group size, for the two plain layouts of words."""
    settings = _settings(folder) or {}
    method = settings.get("quant_method")
    bits = settings.get("bits", settings.get("w_bit"))
    group = _group(settings)
    if type(bits) is not int or not 0 < bits <= _WORD or method not in ("gptq", "awq"):
        return
    if settings.get("dynamic") or str(settings.get("version", "gemm")).lower() != "gemm":
        return  # bits by module, or AWQ's other order
    for name, qweight in copy.tensors.items():
        if not name.endswith(".qweight") or len(qweight.shape) != 2:
            continue
        module = name.removesuffix(".qweight")
        contradiction = _contradiction(copy.tensors, module, qweight, bits, group, method == "awq")
        if contradiction is not None:
            yield RuleFinding(contradiction[0], copy.file_of[name], name, contradiction[1])


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
