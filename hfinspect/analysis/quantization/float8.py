"""FP8 as transformers, AutoFP8 and FBGEMM write it: read by ``scaled``.

Sources: transformers/integrations/finegrained_fp8.py: ``weight_scale_inv`` (ceil(out / b0),
ceil(in / b1)) in blocks, or one for all, and ``activation_scale`` for static activations; the
released files of DeepSeek-V3 have the same. Experts in one tensor have ``gate_up_proj_scale_inv``
and ``down_proj_scale_inv``. AutoFP8 (configs without ``weight_block_size``): ``weight_scale`` and
``input_scale``, one each. FBGEMM (transformers/integrations/fbgemm_fp8.py): ``weight_scale``
(out, 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...trees.modules import Parameter
from ...trees.prediction import Prediction
from .declared import Declared
from .decoding import Modules, Sheet
from .kept_by_default import kept_in_float32, kept_without_list
from .pieces import (
    KEEP,
    Fused,
    FusedScheme,
    Linear,
    Pieces,
    Plan,
    Scheme,
    UndeterminedError,
    parts,
    scales,
    weights,
)
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


#: Model types with queries, keys and values that are joined in files; their scales are not.
_JOINED = frozenset({"step3p7"})


def read(modules: Modules, said: Declared, sheet: Sheet) -> None:
    """Every module with a weight of one of these dtypes, and all scales."""
    read_scaled(modules, said, sheet)


def plan(said: Declared, _config: Mapping[str, object], prediction: Prediction) -> Plan:
    """Every Linear but those that are listed; without a list, all but what transformers keeps by
    default. A config that transformers did not write says by its list alone what is packed next to
    the language model."""
    kept = said.names(*_LISTS)
    if kept is None and _has_other_parts(prediction) and not _by_transformers(said):
        raise UndeterminedError("it does not list what stays as it is next to the language model")
    if kept is None and prediction.model_type in _JOINED:
        raise UndeterminedError("it does not list the vision part, whose scales have other names")
    for key in ("modules_to_convert", "quantized_layers", "config_groups"):
        if said.values.get(key):
            raise UndeterminedError(f"{key} mixes layouts")
    if said.values.get("kv_cache_scheme"):
        raise UndeterminedError("the names of the KV cache's scales are not known")
    selection = Selection()
    selection.add(kept or (), KEEP)
    selection.add(kept_in_float32(prediction), KEEP)
    if not _by_transformers(said):
        selection.add(_KEPT, KEEP)
    if kept is None:
        selection.add(kept_without_list(prediction), KEEP, inside=False)
    return Plan(_scheme(said, prediction), selection, fused=_experts(said, prediction))


def _by_transformers(said: Declared) -> bool:
    """Whether transformers wrote the config: it writes these keys always (FineGrainedFP8Config)."""
    return {"dequantize", "modules_to_not_convert"} <= said.values.keys()


def _has_other_parts(prediction: Prediction) -> bool:
    return any(spec.part != "text" for spec, _ in prediction.tensors.counted())


def _scheme(said: Declared, prediction: Prediction) -> Scheme:
    if said.method == "fbgemm_fp8":
        return lambda linear: {
            "weight": weights("F8_E4M3", (linear.out, linear.inputs), linear.parameters, 8, "FP8"),
            "weight_scale": scales("F32", linear.out, 1),
        }
    packed = _settings(said, prediction)

    def pack(linear: Linear) -> Pieces | None:
        if linear.module != "Linear" and not linear.module.endswith(
            "GroupedLinear"
        ):  # not Conv1D, nor a Linear of another kind
            return None
        return packed.linear(linear)

    return pack


class _Settings(NamedTuple):
    """``dtype`` of the weights, ``scale`` of the scales, which are one for each of ``blocks`` (rows
    and columns), or one for all; ``static`` activations have a scale too. ``names`` are those of
    the two scales, without ``weight`` in front."""

    dtype: str
    scale: str
    blocks: tuple[int, int] | None
    static: bool
    names: tuple[str, str] = ("scale_inv", "activation_scale")

    def linear(self, linear: Linear) -> Pieces:
        out, inputs = linear.out, linear.inputs
        if self.static and linear.is_expert and self.names[1] == "activation_scale":
            raise UndeterminedError("transformers joins the scales of all experts' activations")
        # One scale for all of an expert keeps the axes of the tensor that holds all experts.
        shape = self.scales_of(out, inputs) if self.blocks or linear.is_expert else ()
        pieces = {
            "weight": weights(self.dtype, (out, inputs), out * inputs, 8, "FP8"),
            f"weight_{self.names[0]}": scales(self.scale if self.blocks else "F32", *shape),
        }
        return {**pieces, self.names[1]: scales("F32")} if self.static else pieces

    def scales_of(self, out: int, inputs: int) -> tuple[int, int]:
        high, wide = self.blocks or (out, inputs)
        return parts(out, high), parts(inputs, wide)


def _settings(said: Declared, prediction: Prediction) -> _Settings:
    dtype = _FORMATS.get(said.text("fmt"))
    if dtype is None:
        raise UndeterminedError(f"fmt {said.text('fmt')!r:.40} is not known")
    scale = "F32"
    if said.text("scale_fmt") == "ue8m0":
        if _by_transformers(said):
            scale = "F8_E8M0"
        elif prediction.model_type not in _WIDE_SCALES:
            raise UndeterminedError("scales of the format ue8m0 are kept in several dtypes")
    if said.text("expert_dtype") not in ("", "fp8"):
        raise UndeterminedError("its experts have another dtype than the other modules")
    static = said.text("activation_scheme") == "static"
    blocks = said.values.get("weight_block_size")
    if blocks is None:
        given = {"weight_block_size", "modules_to_not_convert"}
        if given.isdisjoint(said.values):
            return _Settings(dtype, "F32", None, static, ("scale", "input_scale"))
        return _Settings(dtype, "F32", None, static)
    if not (isinstance(blocks, list) and len(blocks) == 2 and all(map(_is_size, blocks))):
        raise UndeterminedError(f"weight_block_size {blocks!r:.40} is no pair of sizes")
    return _Settings(dtype, scale, (blocks[0], blocks[1]), static)


def _is_size(value: object) -> bool:
    return type(value) is int and value > 0


#: Experts in two tensors: what goes into them, and what comes out.
_GATE_UP, _DOWN = "gate_up_proj", "down_proj"
#: Classes with one map of all experts: ``gate_proj.weight`` (experts, out, in).
_EACH = frozenset({"Step3p7MoELinear"})


def _experts(said: Declared, prediction: Prediction) -> FusedScheme:
    """Experts in one tensor (``FP8Experts``): (experts, out, in) here, whatever the order is when
    nothing is packed, with scales for each expert."""

    def pack(fused: Fused) -> Pieces:
        packed, names = _settings(said, prediction), fused.siblings
        if fused.module in _EACH and not packed.static:
            return _all_experts(fused, fused.shape, packed)
        if names.keys() != {_GATE_UP, _DOWN}:
            listed = ", ".join(sorted(names))
            raise UndeterminedError(
                f"experts in tensors of these names are not known: {listed:.80}"
            )
        experts, out, inputs = fused.shape
        if _is_transposed(names[_GATE_UP], names[_DOWN]):
            out, inputs = inputs, out
        pieces = _all_experts(fused, (experts, out, inputs), packed)
        if packed.static:
            pieces[f"{fused.name}_activation_scale"] = scales("F32", experts)
        return pieces

    return pack


def _all_experts(fused: Fused, shape: tuple[int, ...], packed: _Settings) -> dict[str, Parameter]:
    experts, out, inputs = shape
    high, wide = packed.scales_of(out, inputs)
    if fused.name == _GATE_UP:
        high = max(high, 2)  # gate and up have scales of their own
    scale = packed.scale if packed.blocks else "F32"
    return {
        fused.name: weights(packed.dtype, shape, experts * out * inputs, 8, "FP8"),
        f"{fused.name}_scale_inv": scales(scale, experts, high, wide),
    }


def _is_transposed(gate_up: tuple[int, ...], down: tuple[int, ...]) -> bool:
    """Whether two tensors are (experts, in, out): the width of the model is then that which goes
    into the first and comes out of the second."""
    if len(gate_up) != 3 or len(down) != 3:
        raise UndeterminedError(f"experts of the shape {gate_up} are not known")
    return gate_up[1] == down[2] and gate_up[2] == 2 * down[1]
