"""bitsandbytes: 4-bit (nf4, fp4, with or without double quantisation) and int8.

Sources: bitsandbytes/functional.py (``QuantState.as_dict``) and nn/modules.py. 4 bits: ``weight``
holds two values a byte, as bytes (n/2, 1) or as words of another dtype, beside
``weight.absmax``, ``weight.quant_map``, ``weight.quant_state.bitsandbytes__nf4``, and for double
quantisation ``weight.nested_absmax`` and ``weight.nested_quant_map``. int8: ``weight`` with
``SCB`` (out) and ``weight_format``.
"""

from __future__ import annotations

from ...core.tensors import StoredTensor
from .declared import Declared
from .decoding import Holds, Modules, Sheet

_STATE = "quant_state"
_ASIDE = {
    "absmax": Holds.SCALES,
    "nested_absmax": Holds.SCALES,
    "quant_map": Holds.TABLES,
    "nested_quant_map": Holds.TABLES,
}
#: Block sizes of quantize_4bit.
_BLOCKS = (32, 64, 128, 256, 512, 1024, 2048, 4096)


def read(modules: Modules, _said: Declared, sheet: Sheet) -> None:
    """Groups named after a weight hold 4-bit state; modules with SCB are int8."""
    for name, module in modules.items():
        absmax = module.get("absmax")
        if absmax is not None:
            _read_four_bits(modules, name, absmax, sheet)
            for suffix, holds in _ASIDE.items():
                tensor = module.get(suffix)
                if tensor is not None:
                    sheet.aside(tensor, name, holds)
        elif name.endswith(f".{_STATE}"):
            for tensor in module.tensors.values():
                sheet.aside(tensor, name.removesuffix(f".{_STATE}"), Holds.TABLES)
        scales, weight = module.get("SCB"), module.get("weight")
        if scales is None:
            continue
        if weight is not None and weight.dtype == "I8":
            sheet.weight(weight, weight.name, weight.elements, 8, "int8")
        elif weight is not None:
            sheet.unknown(weight, weight.name, f"{weight.dtype} beside SCB is no int8 weight")
        sheet.aside(scales, module.full("weight"), Holds.SCALES)
        form = module.get("weight_format")
        if form is not None:
            sheet.aside(form, module.full("weight"), Holds.TABLES)


def _read_four_bits(modules: Modules, name: str, absmax: StoredTensor, sheet: Sheet) -> None:
    parent, _, suffix = name.rpartition(".")
    module = modules.get(parent)
    weight = module.get(suffix) if module is not None else None
    if weight is None:
        return
    states = modules.get(f"{name}.{_STATE}")
    kinds = [key.removeprefix("bitsandbytes__") for key in (states.tensors if states else ())]
    total = 2 * weight.nbytes
    promised = sheet.promised(name)
    if promised is not None and promised + 1 == total:
        total = promised  # an odd number of values leaves half a byte unused
    if not any(-(-total // size) == absmax.elements for size in _BLOCKS):
        why = f"{absmax.elements:,} scales do not fit {total:,} values in blocks of any size"
        sheet.unknown(weight, name, why)
        return
    sheet.weight(weight, name, total, 4, kinds[0][:20] if len(kinds) == 1 else "4-bit")
