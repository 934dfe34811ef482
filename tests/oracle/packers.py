"""Which modules quantisation libraries pack of a model on the meta device, and what stands in their
place: one entry for each method that ``record_packed`` compares.

Needs bitsandbytes, compressed-tensors and optimum next to the oracle's own packages; a method whose
library is missing is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from hfinspect.analysis.quantization.declared import declared_in
from hfinspect.analysis.quantization.packed_layout import Linear, PackedPlan, PackedTensors, weights
from hfinspect.analysis.quantization.registry import find_plan
from hfinspect.core.library_versions import TRANSFORMERS
from hfinspect.trees.prediction import Prediction


class Packer(NamedTuple):
    """``section`` is the quantization_config; ``modules`` names the modules that are replaced.
    ``marked``: small models are too narrow for the layout, so that weights are only marked."""

    section: Mapping[str, Any]
    modules: Callable[[Any], Iterable[str]]
    marked: bool = False


def _kept(model: Any, listed: list[str] | None = None, *, always: bool = False) -> Any:
    """A test of names: whether transformers converts the module."""
    from transformers.quantizers.base import HfQuantizer
    from transformers.quantizers.quantizers_utils import should_convert_module

    kept = HfQuantizer.get_modules_to_not_convert(
        model, listed, model._keep_in_fp32_modules, add_default_skips=always
    )
    return lambda name: should_convert_module(name, kept)


def _bitsandbytes(model: Any) -> Iterable[str]:
    """transformers/integrations/bitsandbytes.py."""
    from torch import nn
    from transformers.pytorch_utils import Conv1D

    converts = _kept(model)
    for name, module in model.named_modules():
        if (isinstance(module, Conv1D) or type(module) is nn.Linear) and converts(name):
            yield name


def _any_linear(*, always: bool) -> Callable[[Any], Iterable[str]]:
    """transformers/integrations/awq.py and fbgemm_fp8.py: classes made from Linear too."""

    def linears(model: Any) -> Iterable[str]:
        from torch import nn

        converts = _kept(model, always=always)
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear) and converts(name):
                yield name

    return linears


def _gptq(model: Any) -> Iterable[str]:
    """optimum/gptq: Linear and Conv1D in the blocks that it finds by their names."""
    from optimum.gptq.utils import get_block_name_with_pattern, get_layers

    if type(model).main_input_name != "input_ids":
        raise ValueError("We can only quantize pure text model.")
    return get_layers(model, prefix=get_block_name_with_pattern(model))  # type: ignore[no-any-return]


def _compressed(model: Any) -> Iterable[str]:
    from compressed_tensors.utils.match import match_named_modules

    return (name for name, _ in match_named_modules(model, ["Linear"], ["lm_head"]))


_GROUPS = {
    "group_0": {
        "targets": ["Linear"],
        "weights": {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True},
    }
}
PACKERS: Mapping[str, Packer] = {
    "bnb4": Packer(
        {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
        _bitsandbytes,
    ),
    "bnb8": Packer({"quant_method": "bitsandbytes", "load_in_8bit": True}, _bitsandbytes),
    "fbgemm": Packer({"quant_method": "fbgemm_fp8"}, _any_linear(always=False)),
    "awq": Packer(
        {"quant_method": "awq", "bits": 4, "group_size": -1, "version": "gemm"},
        _any_linear(always=True),
        marked=True,
    ),
    "gptq": Packer({"quant_method": "gptq", "bits": 8, "group_size": -1}, _gptq, marked=True),
    "compressed": Packer(
        {
            "quant_method": "compressed-tensors",
            "format": "int-quantized",
            "config_groups": _GROUPS,
            "ignore": ["lm_head"],
        },
        _compressed,
    ),
}


def settings(packer: Packer) -> dict[str, Any]:
    """What config.json has more than that of the plain model."""
    return {"quantization_config": dict(packer.section), "transformers_version": TRANSFORMERS}


def plan_of(packer: Packer, prediction: Prediction) -> PackedPlan:
    """hfinspect's own plan. Raises UndeterminedError."""
    config = settings(packer)
    plan = find_plan(declared_in(config, {}), config, prediction)
    return replace(plan, scheme=_mark) if packer.marked and plan.scheme is not None else plan


def _mark(linear: Linear) -> PackedTensors:
    shape = (linear.out, linear.inputs)
    return {
        "weight": weights(
            "F8_E5M2",
            shape[:: 1 if linear.module != "Conv1D" else -1],
            linear.parameters,
            8,
            "marked",
        )
    }


def replaced(packer: Packer, prediction: Prediction, model: Any, state: Any) -> dict[str, Any]:
    """``state`` with the tensors of the method's layout in the place of packed weights."""
    import torch

    from .record_packed import DTYPES

    dtypes = {code: getattr(torch, name) for name, code in DTYPES.items()}
    scheme = plan_of(packer, prediction).scheme
    assert scheme is not None
    done = dict(state)
    for name in packer.modules(model):
        module = model.get_submodule(name)
        weight = done.pop(f"{name}.weight", None)
        if weight is None:  # tied
            continue
        kind = "Conv1D" if type(module).__name__ == "Conv1D" else "Linear"
        first, second = weight.shape
        sizes = (second, first) if kind == "Conv1D" else (first, second)
        has_bias = getattr(module, "bias", None) is not None
        for key, piece in (scheme(Linear(*sizes, kind, has_bias, "BF16")) or {}).items():
            dtype = dtypes[piece.dtype or "BF16"]
            done[f"{name}.{key}"] = torch.empty(piece.shape, dtype=dtype, device="meta")
    return done
