"""The dtype or packing of a model in a few words."""

from typing import Final

from .results import Inspection

#: A dtype of a smaller share of the bytes is not named.
_NAMED_SHARE: Final = 0.05


def precision(inspection: Inspection) -> str:
    """The quantisation, else the dtypes of most bytes."""
    quantization = inspection.quantization
    mixture = inspection.contents.get("file_type")
    if isinstance(mixture, str):
        return mixture
    if quantization is not None:
        name = quantization.scheme or quantization.method
        bits = "" if quantization.bits is None else f"{quantization.bits}-bit"
        digits = str(quantization.bits) in name or bits in ("", name)
        return name if digits else f"{name} {bits}"
    unknown = [totals for totals in inspection.dtypes.values() if totals.nbytes is None]
    if 2 * sum(totals.parameters or 0 for totals in unknown) > (inspection.parameters or 0):
        return "dtype unknown"  # a counter's I64 says nothing of the rest
    known = {name: totals.nbytes or 0 for name, totals in inspection.dtypes.items()}
    total = sum(known.values())
    ordered = sorted(known, key=lambda name: -known[name])
    dtypes = [name for name in ordered if known[name] >= _NAMED_SHARE * total and known[name]]
    return " + ".join(dtypes) or ("dtype unknown" if inspection.parameters else "")
