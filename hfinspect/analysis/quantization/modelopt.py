"""ModelOpt: FP8 with one scale a weight, NVFP4, and mixtures of both; read by ``scaled``.

Sources: modelopt/torch/export (``quant_utils``, ``convert_hf_config``). FP8: ``weight_scale`` and
``input_scale``, one each. NVFP4: bytes (out, in/2), ``weight_scale`` (out, in/16) in F8_E4M3,
``weight_scale_2`` and ``input_scale``. ``exclude_modules`` (``ignore`` in config.json) are names
and globs; an FP8 KV cache has ``k_proj.k_scale`` and ``v_proj.v_scale``. ``quantized_layers`` has
the settings of each module of a mixture.
"""

from collections.abc import Mapping

from ...trees.prediction import Prediction
from .declared import Declared
from .decoding import Modules, Sheet
from .packed_layout import (
    KEEP,
    Linear,
    PackedPlan,
    PackedTensors,
    Scheme,
    UndeterminedError,
    exact,
    scales,
    weights,
)
from .scaled_weights import read as read_scaled
from .selection import Selection

_GROUP = 16


def read(modules: Modules, declared: Declared, sheet: Sheet) -> None:
    """Every module with a weight of these dtypes, and all scales."""
    read_scaled(modules, declared, sheet)


def plan(declared: Declared, _config: Mapping[str, object], _prediction: Prediction) -> PackedPlan:
    """Every Linear that is not excluded, or of a mixture those that are listed."""
    unpacked = declared.names("exclude_modules", "ignore")
    selection = Selection()
    selection.add(unpacked or (), KEEP)
    algorithm = declared.text("quant_algo")
    scheme: Scheme | None = None
    if algorithm == "mixed_precision":
        layers = declared.section("quantized_layers")
        if not layers:
            raise UndeterminedError("it does not list the layers of its mixture")
        known: dict[str, Scheme] = {}
        for name, settings in layers.items():
            entry = settings if isinstance(settings, Mapping) else {}
            arguments = entry.get("quant_algo"), entry.get("group_size")
            key = repr(arguments)  # as they are, lists have no hash
            if key not in known:
                known[key] = scheme_of(*arguments)
            selection.add([name], known[key], inside=False)
    else:
        if unpacked is None:  # an export always has the list, if need be an empty one
            raise UndeterminedError("it does not list which modules stay as they are")
        size = declared.values.get("group_size") or _size_in_groups(declared)
        scheme = scheme_of(algorithm, size)
    return PackedPlan(scheme, selection, cache_scales=_cache(declared))


def _size_in_groups(declared: Declared) -> object:
    return next((weight.get("group_size") for weight in declared.weight_schemes()), None)


def _cache(declared: Declared) -> str:
    algorithm = declared.text("kv_cache_quant_algo")
    scheme = declared.section("kv_cache_scheme")
    if algorithm not in ("", "fp8", "none") or (scheme and scheme.get("num_bits") != 8):
        raise UndeterminedError("the scales of its KV cache are not known")
    return "projections" if algorithm == "fp8" or scheme else ""


def scheme_of(algorithm: object, group: object) -> Scheme:
    """The scheme of one ``quant_algo``. Raises UndeterminedError."""
    name = algorithm.lower() if isinstance(algorithm, str) else ""
    if name == "fp8":
        return _float8
    if name in ("nvfp4", "w4a16_nvfp4") and group in (None, _GROUP):
        return lambda linear: _nvfp4(linear, has_inputs=name == "nvfp4")
    raise UndeterminedError(f"the layout of quant_algo {algorithm!r:.40} is not known")


def _float8(linear: Linear) -> PackedTensors:
    return {
        "weight": weights("F8_E4M3", (linear.out, linear.inputs), linear.parameters, 8, "FP8"),
        "weight_scale": scales("F32"),
        "input_scale": scales("F32"),
    }


def _nvfp4(linear: Linear, *, has_inputs: bool) -> PackedTensors:
    groups = exact(linear.inputs, _GROUP, "the width")
    shape = linear.out, linear.inputs // 2
    tensors = {
        "weight": weights("U8", shape, linear.parameters, 4, "NVFP4"),
        "weight_scale": scales("F8_E4M3", linear.out, groups),
        "weight_scale_2": scales("F32"),
    }
    return {**tensors, "input_scale": scales("F32")} if has_inputs else tensors
