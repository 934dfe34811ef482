"""MXFP4 as gpt-oss has it: ``experts.gate_up_proj_blocks`` (experts, out, in/32, 16) of two values
a byte, and ``experts.gate_up_proj_scales`` (experts, out, in/32).

Source: transformers/integrations/mxfp4.py and openai/gpt-oss (``weights.py``).
"""

from collections.abc import Mapping

from ...trees.prediction import Prediction
from .declared import Declared
from .decoding import Holds, Modules, Sheet
from .packed_layout import (
    KEEP,
    Fused,
    PackedPlan,
    PackedTensors,
    UndeterminedError,
    exact,
    scales,
    weights,
)
from .scaled_weights import read_module
from .selection import Selection


def read(modules: Modules, declared: Declared, sheet: Sheet) -> None:
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
        read_module(module, declared, sheet)


def plan(declared: Declared, _config: Mapping[str, object], prediction: Prediction) -> PackedPlan:
    """Experts alone; all other tensors are bfloat16 (README of openai/gpt-oss, "Precision format").

    Only the layout of gpt-oss follows from a config: in its tree experts are (experts, in, out),
    and transformers replaces no other class (``GptOssMLP``, integrations/mxfp4.py).
    """
    if prediction.model_type != "gpt_oss":
        raise UndeterminedError("its layout is known for gpt-oss alone")
    selection = Selection()
    selection.add(declared.names("modules_to_not_convert") or (), KEEP)
    return PackedPlan(None, selection, fused=_pack, dtype="BF16")


def _pack(fused: Fused) -> PackedTensors:
    name = fused.name
    experts, inputs, out = fused.shape
    groups = exact(inputs, 32, "the width")
    return {
        f"{name}_blocks": weights(
            "U8", (experts, out, groups, 16), experts * out * inputs, 4, "MXFP4"
        ),
        f"{name}_scales": scales("U8", experts, out, groups),
    }
