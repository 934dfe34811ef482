"""FP8 as transformers, AutoFP8 and FBGEMM write it: read by ``scaled``.

Sources: transformers/integrations/finegrained_fp8.py: ``weight_scale_inv`` (ceil(out / b0),
ceil(in / b1)) in blocks, or one for all, and ``activation_scale`` for static activations; the
released files of DeepSeek-V3 have the same. AutoFP8 (configs without ``weight_block_size``):
``weight_scale`` and ``input_scale``, one each. FBGEMM (transformers/integrations/fbgemm_fp8.py):
``weight_scale`` (out, 1).
"""

from __future__ import annotations

from collections.abc import Mapping

from ...trees.modules import Parameter
from ...trees.prediction import Prediction
from .declared import Declared
from .decoding import Modules, Sheet
from .pieces import KEEP, Linear, Pieces, Plan, Scheme, UndeterminedError, parts, scales, weights
from .scaled import read as read_scaled
from .selection import Selection

_FORMATS = {
    "": "F8_E4M3", "e4m3": "F8_E4M3", "float8_e4m3fn": "F8_E4M3",
    "e5m2": "F8_E5M2", "float8_e5m2": "F8_E5M2",
}  # fmt: skip
_LISTS = ("modules_to_not_convert", "ignored_layers")
#: Model types whose files keep scales of the format ue8m0 as float32.
_WIDE_SCALES = frozenset({"deepseek_v3", "deepseek_v32"})
#: What released files keep as it is without saying so: the ends of a layer of multi-token
#: prediction (DeepSeek-V3), the weights of the indexer's heads (DeepSeek-V3.2, GLM-5).
_KEPT = ("eh_proj", "shared_head.head", "indexer.weights_proj")


def read(modules: Modules, said: Declared, sheet: Sheet) -> None:
    """Every module with a weight of one of these dtypes, and all scales."""
    read_scaled(modules, said, sheet)


def plan(said: Declared, _config: Mapping[str, object], prediction: Prediction) -> Plan:
    """Every Linear but those that are listed; without a list, all but the output head."""
    kept = said.names(*_LISTS)
    if kept is None and _has_other_parts(prediction):
        raise UndeterminedError("it does not list what stays as it is next to the language model")
    for key in ("modules_to_convert", "quantized_layers", "config_groups"):
        if said.values.get(key):
            raise UndeterminedError(f"{key} mixes layouts")
    if said.values.get("kv_cache_scheme"):
        raise UndeterminedError("the names of the KV cache's scales are not known")
    selection = Selection()
    selection.add(kept or (), KEEP)
    selection.add(_KEPT, KEEP)
    return Plan(_scheme(said, prediction), selection, heads=kept is not None)


def _has_other_parts(prediction: Prediction) -> bool:
    return any(spec.part != "text" for spec, _ in prediction.tensors.counted())


def _scheme(said: Declared, prediction: Prediction) -> Scheme:
    if said.method == "fbgemm_fp8":
        return lambda linear: {
            "weight": _weight("F8_E4M3", linear),
            "weight_scale": scales("F32", linear.out, 1),
        }
    dtype = _FORMATS.get(said.text("fmt"))
    if dtype is None:
        raise UndeterminedError(f"fmt {said.text('fmt')!r:.40} is not known")
    if said.text("scale_fmt") == "ue8m0" and prediction.model_type not in _WIDE_SCALES:
        raise UndeterminedError("scales of the format ue8m0 are kept in several dtypes")
    static = said.text("activation_scheme") == "static"
    blocks = said.values.get("weight_block_size")
    if blocks is None:
        return _per_tensor(dtype, static, said)
    if not (isinstance(blocks, list) and len(blocks) == 2 and all(map(_is_size, blocks))):
        raise UndeterminedError(f"weight_block_size {blocks!r:.40} is no pair of sizes")
    high, wide = blocks

    def pack(linear: Linear) -> Pieces:
        shape = parts(linear.out, high), parts(linear.inputs, wide)
        pieces = {
            "weight": _weight(dtype, linear), "weight_scale_inv": scales("F32", *shape)
        }  # fmt: skip
        return {**pieces, "activation_scale": scales("F32")} if static else pieces

    return pack


def _per_tensor(dtype: str, static: bool, said: Declared) -> Scheme:
    by_transformers = "weight_block_size" in said.values or "modules_to_not_convert" in said.values
    names = ("weight_scale", "input_scale")
    if by_transformers:
        names = ("weight_scale_inv", "activation_scale")

    def pack(linear: Linear) -> Pieces:
        pieces = {"weight": _weight(dtype, linear), names[0]: scales("F32")}
        return {**pieces, names[1]: scales("F32")} if static else pieces

    return pack


def _is_size(value: object) -> bool:
    return type(value) is int and value > 0


def _weight(dtype: str, linear: Linear) -> Parameter:
    if linear.module == "Conv1D":
        raise UndeterminedError("a transposed weight (Conv1D) is not packed by this method")
    return weights(dtype, (linear.out, linear.inputs), linear.parameters, 8, "FP8")
