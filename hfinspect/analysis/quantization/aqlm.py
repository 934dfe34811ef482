"""AQLM: ``codes`` (out/og, in/ig, books) point into ``codebooks`` (books, entries, og, ig).

Source: aqlm/inference.py (``QuantizedLinear``). Every group of og·ig weights is a sum of one entry
of each codebook, so the weights follow from the two shapes.
"""

from __future__ import annotations

from .declared import Declared
from .decoding import Holds, Modules, Sheet, whole_ratio


def read(modules: Modules, _said: Declared, sheet: Sheet) -> None:
    """Every module with codes and codebooks."""
    for module in modules.values():
        codes, books = module.get("codes"), module.get("codebooks")
        if codes is None or books is None:
            continue
        name = module.full("weight")
        if len(codes.shape) == 3 and len(books.shape) == 4 and codes.shape[2] == books.shape[0]:
            size = books.shape[2] * books.shape[3]
            total = codes.shape[0] * codes.shape[1] * size
            bits = whole_ratio(8 * codes.nbytes, total)
            scheme = f"{books.shape[0]} codebooks of {books.shape[1]:,}"
            sheet.weight(codes, name, total, bits, scheme)
        else:
            sheet.unknown(codes, name, f"codes {codes.shape} do not fit codebooks {books.shape}")
        sheet.aside(books, name, Holds.TABLES)
        scales = module.get("scales")
        if scales is not None:
            sheet.aside(scales, name, Holds.SCALES)
