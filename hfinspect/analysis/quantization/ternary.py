"""BitNet: ternary ``weight`` as bytes (out/4, in) of four values, and one ``weight_scale``.

Source: transformers/integrations/bitnet.py (``pack_weights``): rows are padded to a multiple of
four, which every model's sizes are. Checkpoints that are quantised while loading have floats.
"""

from __future__ import annotations

from .declared import Declared
from .decoding import Holds, Modules, Sheet


def read(modules: Modules, _said: Declared, sheet: Sheet) -> None:
    """Every module with a scale and a weight of bytes."""
    for module in modules.values():
        weight, scale = module.get("weight"), module.get("weight_scale")
        if weight is None or scale is None:
            continue
        sheet.aside(scale, weight.name, Holds.SCALES)
        if weight.dtype != "U8":
            continue
        columns = weight.shape[-1] if weight.shape else 0
        promised = sheet.promised(weight.name)
        total = 4 * weight.elements
        if promised is not None and columns and promised % columns == 0:
            rows = promised // columns
            total = promised if -(-rows // 4) * columns == weight.elements else total
        sheet.weight(weight, weight.name, total, 2, "ternary")
