"""torchao in safetensors: ``_weight_qdata`` with ``_weight_scale``, ``_weight_zero_point`` ...

Source: torchao/prototype/safetensors. Version 0.14 has ``weight:qdata`` and ``weight:scale``, and
``bias:_data`` of what is not quantised. The file's metadata has for each tensor its class and
``block_size``, the weights that share a scale: so the weights are scales times block. Parts of
torchao tensors in pickled checkpoints come as ``weight.<part>`` and are not unpacked.
"""

from ...core.nesting import loads
from ...core.tensor import StoredTensor
from ..labels.by_name import labels_of
from .declared import Declared
from .decoding import Holds, Modules, Sheet, StoredModule, whole_ratio

_PARTS = {
    "scale": Holds.SCALES,
    "scale_and_zero": Holds.SCALES,
    "per_tensor_scale": Holds.SCALES,
    "act_pre_scale": Holds.SCALES,
    "zero_point": Holds.ZERO_POINTS,
}
#: The only part of a tensor that is not quantised.
_PLAIN = "_data"

#: An entry takes some 300 characters.
_MAX_ENTRY = 10_000


def read(modules: Modules, _declared: Declared, sheet: Sheet) -> None:
    """Every tensor that is stored in parts."""
    for module in modules.values():
        if "weight" in module.name.split("."):
            _set_pickled_aside(module, sheet)
        for suffix, parts in _in_parts(module).items():
            name = module.full(suffix)
            data = parts.get("qdata")
            if data is not None:
                scale = parts.get("scale") or parts.get("scale_and_zero")
                kind, block = _entry(sheet.metadata.get(name))
                _read_data(data, name, scale, kind, block, sheet)
                for part, tensor in parts.items():
                    if part in _PARTS:
                        sheet.aside(tensor, name, _PARTS[part])
            elif _PLAIN in parts:
                sheet.plain(parts[_PLAIN], name, labels_of(name).role)


def _in_parts(module: StoredModule) -> dict[str, dict[str, StoredTensor]]:
    """Tensors by the name of the one that they are parts of (``weight``), then by part."""
    by_weight: dict[str, dict[str, StoredTensor]] = {}
    for suffix, tensor in module.tensors.items():
        weight, colon, part = suffix.partition(":")
        if not colon and suffix.startswith("_"):
            ends = (end for end in ("qdata", *_PARTS) if suffix.endswith(f"_{end}"))
            part = max(ends, key=len, default="")
            weight = suffix[1 : -len(part) - 1] if part else ""
        if weight and part:
            by_weight.setdefault(weight, {})[part] = tensor
    return by_weight


def _set_pickled_aside(module: StoredModule, sheet: Sheet) -> None:
    """Parts of a pickled tensor subclass: their classes differ from version to version."""
    for suffix, tensor in module.tensors.items():
        if "scale" in suffix or "zero" in suffix:
            holds = Holds.SCALES if "scale" in suffix else Holds.ZERO_POINTS
            sheet.aside(tensor, module.name, holds)
        else:
            sheet.unknown(tensor, module.name, "it is a part of a pickled torchao tensor")


def _read_data(
    data: StoredTensor,
    name: str,
    scale: StoredTensor | None,
    kind: str,
    block: int | None,
    sheet: Sheet,
) -> None:
    scales = scale.elements if scale is not None else None
    if scale is not None and scale.name.endswith("scale_and_zero"):
        scales = whole_ratio(scale.elements, 2)
    expected = None if scales is None or block is None else scales * block
    floats = data.dtype.startswith("F8")
    if floats or expected == data.elements:
        sheet.weight(data, name, data.elements, 8, kind or ("FP8" if floats else "INT8"))
    elif expected == 8 * data.nbytes // 4 and data.nbytes:
        sheet.weight(data, name, 2 * data.nbytes, 4, kind or "INT4")
    else:
        why = f"{data.dtype} {data.shape} of the class {kind or 'nobody names'} is not known"
        sheet.unknown(data, name, why)


def _entry(text: object) -> tuple[str, int | None]:
    """The class of a tensor and the weights that share a scale, as the metadata has them."""
    if not isinstance(text, str) or len(text) > _MAX_ENTRY:
        return "", None
    try:
        entry = loads(text)
    except ValueError:
        return "", None
    kind = entry.get("_type") if isinstance(entry, dict) else None
    data = entry.get("_data") if isinstance(entry, dict) else None
    sizes = data.get("block_size") if isinstance(data, dict) else None
    shown = kind[:40] if isinstance(kind, str) else ""
    if not isinstance(sizes, list) or not 0 < len(sizes) <= 8:
        return shown, None
    block = 1
    for size in sizes:
        if type(size) is not int or size <= 0:
            return shown, None
        block *= size
    return shown, block
