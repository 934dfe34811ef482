"""MXFP4 as gpt-oss has it: ``experts.gate_up_proj_blocks`` (experts, out, in/32, 16) of two values
a byte, and ``experts.gate_up_proj_scales`` (experts, out, in/32).

Source: transformers/integrations/mxfp4.py and openai/gpt-oss (``weights.py``).
"""

from __future__ import annotations

from .declared import Declared
from .decoding import Holds, Modules, Sheet
from .scaled import read_module


def read(modules: Modules, said: Declared, sheet: Sheet) -> None:
    """Every pair of blocks and scales; what else has scales is read as such."""
    for module in modules.values():
        for suffix, blocks in module.tensors.items():
            stem = suffix.removesuffix("_blocks")
            if stem == suffix:
                continue
            name = module.full(stem)
            scales = module.get(f"{stem}_scales")
            if scales is None or blocks.dtype != "U8" or scales.elements * 16 != blocks.elements:
                shape = None if scales is None else scales.shape
                sheet.unknown(blocks, name, f"blocks {blocks.shape} do not fit scales {shape}")
            else:
                sheet.weight(blocks, name, 2 * blocks.elements, 4, "MXFP4")
            if scales is not None:
                sheet.aside(scales, name, Holds.SCALES)
        read_module(module, said, sheet)
