"""BitNet: ternary ``weight`` as bytes (out/4, in) of four values, and one ``weight_scale``.

Source: transformers/integrations/bitnet.py (``pack_weights``): rows are padded to a multiple of
four, which every model's sizes are. Checkpoints that are quantised while loading have floats.
"""

from collections.abc import Mapping

from ...trees.prediction import Prediction
from .declared import Declared
from .decoding import Holds, Modules, Sheet
from .modules_not_packed import never_packed, unlisted_modules
from .packed_layout import KEEP, Linear, PackedPlan, PackedTensors, parts, scales, weights
from .selection import Selection


def read(modules: Modules, _declared: Declared, sheet: Sheet) -> None:
    """Every module with a scale and a weight of bytes."""
    for module in modules.values():
        weight = module.get("weight")
        scale = module.get("weight_scale")
        if weight is None or scale is None:
            continue
        sheet.aside(scale, weight.name, Holds.SCALES)
        if weight.dtype != "U8":
            continue
        columns = weight.shape[-1] if weight.shape else 0
        predicted = sheet.predicted(weight.name)
        total = 4 * weight.elements
        if predicted is not None and columns and predicted % columns == 0:
            rows = predicted // columns
            total = predicted if -(-rows // 4) * columns == weight.elements else total
        sheet.weight(weight, weight.name, total, 2, "ternary")


def plan(declared: Declared, _config: Mapping[str, object], prediction: Prediction) -> PackedPlan:
    """Every Linear but those listed; none where quantisation is done while loading."""
    unpacked = declared.names("modules_to_not_convert")
    selection = Selection()
    selection.add(unpacked or (), KEEP)
    selection.add(never_packed(prediction), KEEP)
    if unpacked is None:
        selection.add(unlisted_modules(prediction), KEEP, inside=False)
    is_online = declared.text("quantization_mode") == "online"
    return PackedPlan(None if is_online else _pack, selection)


def _pack(linear: Linear) -> PackedTensors:
    shape = parts(linear.out, 4), linear.inputs
    return {
        "weight": weights("U8", shape, linear.parameters, 2, "ternary"),
        "weight_scale": scales(None, 1),
    }
