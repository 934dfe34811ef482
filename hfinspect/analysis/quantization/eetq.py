"""EETQ: int8 ``qweight`` (in, out), or ``weight`` in older files, and ``weight_scales`` (out).

Source: transformers/integrations/eetq.py.
"""

from .declared import Declared
from .decoding import Holds, Modules, Sheet


def read(modules: Modules, _declared: Declared, sheet: Sheet) -> None:
    """Every module with ``weight_scales``."""
    for module in modules.values():
        scales = module.get("weight_scales")
        weight = module.get("qweight", "weight")
        if scales is None or weight is None:
            continue
        name = module.full("weight")
        if weight.dtype == "I8" and weight.shape[-1:] == scales.shape:
            sheet.weight(weight, name, weight.elements, 8, "int8")
        else:
            why = f"{weight.dtype} {weight.shape} does not fit scales of {scales.shape}"
            sheet.unknown(weight, name, why)
        sheet.aside(scales, name, Holds.SCALES)
