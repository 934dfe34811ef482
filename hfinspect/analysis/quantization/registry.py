"""Methods by their exact ``quant_method``, each with the file that reads its layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from ...trees.prediction import Prediction
from .declared import Declared
from .decoding import Modules, Sheet
from .torch_native import TORCH_PACKED

if TYPE_CHECKING:
    from .packed_layout import PackedPlan

ReadMethod = Callable[[Modules, Declared, Sheet], None]

#: ``quant_method`` -> file of this folder with ``read``; a row is a file and its methods.
METHODS: Mapping[str, str] = MappingProxyType(
    {
        "gptq": "gptq_awq",
        "gptq_marlin": "gptq_awq",
        "marlin": "gptq_awq",
        "gptqmodel": "gptq_awq",
        "awq": "gptq_awq",
        "awq_marlin": "gptq_awq",
        "auto-round": "autoround",
        "intel/auto-round": "autoround",
        "auto_round": "autoround",
        "bitsandbytes": "bitsandbytes",
        "fp8": "float8",
        "fbgemm_fp8": "float8",
        "ptpc_fp8": "scaled_weights",
        "mxfp8": "scaled_weights",
        "nvfp4": "scaled_weights",
        "quark": "scaled_weights",
        "modelopt": "modelopt",
        "modelopt_fp4": "modelopt",
        "compressed-tensors": "compressed",
        "compressed_tensors": "compressed",
        "mxfp4": "mxfp4",
        "mlx": "mlx",
        "metal": "mlx",
        "hqq": "hqq",
        "eetq": "eetq",
        "aqlm": "aqlm",
        "bitnet": "ternary",
        "torchao": "torchao",
        "quanto": "quanto",
        "torch": "torch_native",
    }
)

#: Last segments of names that only one layout uses -> method, in the order of being asked.
_MARKS = (
    ({"weight_packed"}, "compressed-tensors"),
    ({"codes", "codebooks"}, "aqlm"),
    ({"qweight", "weight_scales"}, "eetq"),
    ({"qweight", "scales"}, "gptq"),
    ({"B", "s"}, "marlin"),
    ({"W_q", "scale", "zero"}, "hqq"),
    ({"absmax", "quant_map"}, "bitsandbytes"),
    ({"SCB"}, "bitsandbytes"),
    ({"_weight_qdata"}, "torchao"),
    ({"weight:qdata"}, "torchao"),
    ({"weight_scale_2"}, "modelopt"),
    ({"weight_scale_inv"}, "fp8"),
    ({"gate_up_proj_blocks", "gate_up_proj_scales"}, "mxfp4"),
    ({"weight_scale"}, "fp8"),
)


def find_method(name: str) -> ReadMethod | None:
    """The reader of a method, None for a name that is not registered."""
    file = METHODS.get(name)
    if file is None:
        return None
    return cast("ReadMethod", import_module(f".{file}", __package__).read)


def find_plan(
    declared: Declared, config: Mapping[str, object], prediction: Prediction
) -> PackedPlan:
    """How a config packs the tensors of ``prediction``. Raises UndeterminedError and what patterns
    raise: a method that is not known, or one whose layout does not follow from its config."""
    from .packed_layout import UndeterminedError

    file = METHODS.get(declared.method)
    if file is None:
        raise UndeterminedError("that method is not known")
    plan = getattr(import_module(f".{file}", __package__), "plan", None)
    if plan is None:
        raise UndeterminedError("its layout does not follow from the config")
    return cast("PackedPlan", plan(declared, config, prediction))


def method_by_names(suffixes: Set[str], dtypes: Set[str]) -> str:
    """The method that names alone show, for files that come without a config; or empty."""
    for mark, method in _MARKS:
        if mark <= suffixes:
            return method
    if "U32" in dtypes and "scales" in suffixes:
        return "mlx"
    if dtypes & TORCH_PACKED.keys():
        return "torch"
    if dtypes & {"F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F4"}:
        return "fp8"
    return ""
