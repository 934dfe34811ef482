"""torchao in safetensors: ``_weight_qdata`` with ``_weight_scale``, ``_weight_zero_point`` ...

Source: torchao/prototype/safetensors. The file's metadata has for each tensor its class and
``block_size``, the weights that share a scale: so the weights are scales times block. Parts of
torchao tensors in pickled checkpoints come as ``weight.<part>`` and are not unpacked.
"""

from __future__ import annotations

import json

from ...core.tensors import StoredTensor
from .declared import Declared
from .decoding import Holds, Module, Modules, Sheet, whole_ratio

_PARTS = {
    "_scale": Holds.SCALES,
    "_scale_and_zero": Holds.SCALES,
    "_per_tensor_scale": Holds.SCALES,
    "_act_pre_scale": Holds.SCALES,
    "_zero_point": Holds.ZERO_POINTS,
}
#: An entry takes some 300 characters.
_MAX_ENTRY = 10_000


def read(modules: Modules, _said: Declared, sheet: Sheet) -> None:
    """Every tensor that is stored in parts."""
    for module in modules.values():
        if "weight" in module.name.split("."):
            _set_pickled_aside(module, sheet)
        for suffix, data in module.tensors.items():
            stem = suffix.removesuffix("_qdata")
            if stem == suffix or not stem.startswith("_"):
                continue
            name = module.full(stem[1:])
            scale = module.get(f"{stem}_scale", f"{stem}_scale_and_zero")
            kind, block = _entry(sheet.metadata.get(name))
            _read_data(data, name, scale, kind, block, sheet)
            for part, holds in _PARTS.items():
                tensor = module.get(stem + part)
                if tensor is not None:
                    sheet.aside(tensor, name, holds)


def _set_pickled_aside(module: Module, sheet: Sheet) -> None:
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
        entry = json.loads(text)
    except (ValueError, RecursionError):
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
