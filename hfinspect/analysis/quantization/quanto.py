"""optimum-quanto: ``weight._data`` and ``weight._scale`` for 8 bits, ``weight._data._data`` (bytes
of 2- or 4-bit values) with ``weight._scale`` and ``weight._shift`` for fewer.

Source: optimum/quanto/tensor (``qbytes``, ``qbits``, ``packed``). How many bits a byte holds is in
the config alone.
"""

from .declared import Declared
from .decoding import Holds, Modules, Sheet, whole_ratio

_BITS = {"int2": 2, "qint2": 2, "int4": 4, "qint4": 4}
_FLOATS = ("F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ")


def read(modules: Modules, declared: Declared, sheet: Sheet) -> None:
    """Every group that is named after a weight and has a scale."""
    for name, module in modules.items():
        for suffix in ("input_scale", "output_scale"):
            tensor = module.get(suffix)
            if tensor is not None:
                sheet.aside(tensor, module.full("weight"), Holds.SCALES)
        scale = module.get("_scale")
        if scale is None:
            continue
        inner = modules.get(f"{name}._data")
        packed = inner.get("_data") if inner is not None else None
        plain = module.get("_data")
        if plain is not None and plain.dtype in ("I8", *_FLOATS):
            sheet.weight(plain, name, plain.elements, 8, "int8" if plain.dtype == "I8" else "FP8")
        elif packed is not None:
            bits = _BITS.get(declared.text("weights"))
            if bits is None or packed.dtype != "U8":
                sheet.unknown(packed, name, "no config says how many bits a value has")
            elif whole_ratio(packed.elements * 8 // bits, scale.elements) is None:
                sheet.unknown(packed, name, f"{packed.shape} does not fit scales of {scale.shape}")
            else:
                sheet.weight(packed, name, packed.elements * 8 // bits, bits, f"int{bits}")
        sheet.aside(scale, name, Holds.SCALES)
        shift = module.get("_shift", "_zeropoint")
        if shift is not None:
            sheet.aside(shift, name, Holds.ZERO_POINTS)
