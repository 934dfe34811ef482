"""FP8 as transformers, AutoFP8 and FBGEMM write it: read by ``scaled``.

Sources: transformers/integrations/finegrained_fp8.py: ``weight_scale_inv`` (ceil(out / b0),
ceil(in / b1)) in blocks, or one for all, and ``activation_scale`` for static activations; the
released files of DeepSeek-V3 have the same. Experts in one tensor have ``gate_up_proj_scale_inv``
and ``down_proj_scale_inv``. AutoFP8 (configs without ``weight_block_size``): ``weight_scale`` and
``input_scale``, one each. FBGEMM (transformers/integrations/fbgemm_fp8.py): ``weight_scale``
(out, 1).
"""

from collections.abc import Mapping
from math import prod
from types import MappingProxyType
from typing import NamedTuple

from ...trees.modules import Parameter, each_module
from ...trees.prediction import Prediction
from .declared import Declared
from .decoding import Holds, Modules, Sheet
from .modules_not_packed import (
    NO_VERSION,
    NOT_AS_NAMED,
    check_saved_as_packed,
    has_experts_apart,
    never_packed,
    no_linear_since_5,
    unlisted_modules,
)
from .packed_layout import (
    KEEP,
    LINEAR,
    LINEARS,
    Fused,
    FusedScheme,
    Linear,
    PackedPlan,
    PackedTensors,
    UndeterminedError,
    exact,
    parts,
    scales,
    weights,
)
from .scaled_weights import read as read_scaled
from .selection import Selection

_FORMATS = {
    "": "F8_E4M3",
    "e4m3": "F8_E4M3",
    "float8_e4m3fn": "F8_E4M3",
    "e5m2": "F8_E5M2",
    "float8_e5m2": "F8_E5M2",
}
#: What transformers replaces: a Linear and nothing made from it, but for groups (``FP8Linear``).
_CLASSES = LINEAR | {"DeepseekV4GroupedLinear"}
_LISTS = ("modules_to_not_convert", "ignored_layers")
#: Model types whose files keep scales of the format ue8m0 as float32.
_WIDE_SCALES = frozenset({"deepseek_v3", "deepseek_v32"})
#: What released files keep as it is without saying so: the ends of a layer of multi-token
#: prediction (DeepSeek-V3), the weights of the indexer's heads (DeepSeek-V3.2, GLM-5).
_KEPT = ("eh_proj", "shared_head.head", "indexer.weights_proj")


#: Scales of all experts -> the module that has the weights, where each expert has none of its own.
_OF_EXPERTS = MappingProxyType(
    {
        "gate_up_proj_scale_inv": "input_linear",
        "gate_up_proj_activation_scale": "input_linear",
        "down_proj_scale_inv": "output_linear",
        "down_proj_activation_scale": "output_linear",
    }
)
#: Model types with queries, keys and values that are joined in files; their scales are not.
_JOINED = frozenset({"step3p7"})

_NO_EXPERTS = "transformers cannot build experts in FP8 for this model type"
_NO_READING = "transformers cannot read this model type in FP8"
_PIECES = "transformers saves the convolutions of this model type in pieces with other names"
#: Model types that transformers cannot save in FP8, or not under the names that it reads, with the
#: reason; as recorded by ``record_packed --all``.
_NOT_SAVED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            """aria aria_text dbrx ernie4_5_vl_moe ernie4_5_vl_moe_text gpt_oss jetmoe lfm2_moe
            muse_spark muse_spark_text nemotron_h nllb-moe openai_privacy_filter
            switch_transformers""".split(),
            _NO_EXPERTS,
        ),
        **dict.fromkeys(
            ("kimi_k25", "mistral_large4", "tipsv2", "tipsv2_dpt", "tipsv2_vision_model"),
            _NO_READING,
        ),
        **dict.fromkeys(
            ("bailing_hybrid", "glm5_next", "glm5_next_text", "kimi_linear", "olmo_hybrid"), _PIECES
        ),
        **dict.fromkeys(("step3p5_vision", "tipsv2_text_model", "unlimited_ocr"), NOT_AS_NAMED),
    }
)
#: Model types whose class has experts that do nothing and that no FP8 file has.
_IDLE_EXPERTS = frozenset({"longcat_flash"})


def read(modules: Modules, declared: Declared, sheet: Sheet) -> None:
    """Every module with a weight of one of these dtypes, and all scales."""
    read_scaled(modules, declared, sheet)
    for name in modules:
        if name == "experts" or name.endswith(".experts"):
            _read_of_experts(modules, name, sheet)


def _read_of_experts(modules: Modules, name: str, sheet: Sheet) -> None:
    """Scales for all experts of a layer whose weights are in other modules."""
    tensors = modules[name].tensors
    for suffix, like in _OF_EXPERTS.items():
        tensor = tensors.get(suffix)
        if tensor is None or tensor.name in sheet.tensors:
            continue
        parent = name.rpartition(".")[0]
        granite = f"{parent}.{like}" if parent else like
        children = (other for other in modules if other.startswith(f"{name}."))
        owner = granite if granite in modules else next(children, name)
        sheet.aside(tensor, f"{owner}.weight", Holds.SCALES)


def plan(declared: Declared, config: Mapping[str, object], prediction: Prediction) -> PackedPlan:
    """Every Linear but those that are listed; without a list, all but what transformers keeps by
    default. A config that transformers did not write says by its list alone what is packed next to
    the language model."""
    unpacked = declared.names(*_LISTS)
    if unpacked is None and _has_other_parts(prediction) and not _by_transformers(declared):
        raise UndeterminedError("it does not list what stays as it is next to the language model")
    model_type = prediction.model_type or ""
    if unpacked is None and model_type in _JOINED:
        raise UndeterminedError("it does not list the vision part, whose scales have other names")
    if model_type in _IDLE_EXPERTS:
        raise UndeterminedError("whether the experts that do nothing are in the files is not known")
    if _by_transformers(declared) and model_type in _NOT_SAVED:
        raise UndeterminedError(_NOT_SAVED[model_type])
    if _by_transformers(declared) and _has_part(prediction, "Dinov2"):
        raise UndeterminedError(_NO_READING)
    for key in ("modules_to_convert", "quantized_layers", "config_groups"):
        if declared.values.get(key):
            raise UndeterminedError(f"{key} mixes layouts")
    if declared.values.get("kv_cache_scheme"):
        raise UndeterminedError("the names of the KV cache's scales are not known")
    by_library = _by_transformers(declared) or declared.method == "fbgemm_fp8"
    selection = Selection()
    selection.add(unpacked or (), KEEP)
    selection.add(never_packed(prediction), KEEP)
    selection.add(no_linear_since_5(prediction) if by_library else _KEPT, KEEP)
    if unpacked is None:
        selection.add(unlisted_modules(prediction), KEEP, inside=False)
    static = declared.text("activation_scheme") == "static"
    if declared.method == "fbgemm_fp8":
        return _fbgemm_plan(config, selection, prediction)
    return PackedPlan(
        _settings(declared, config, prediction).linear,
        selection,
        fused=_experts(declared, config, prediction),
        classes=_CLASSES,
        joined=_inputs_of_experts if static and _by_transformers(declared) else None,
    )


def _inputs_of_experts(experts: int) -> PackedTensors:
    """Static scales of what goes into experts: two tensors for all, whatever the experts are."""
    return {
        "gate_up_proj_activation_scale": scales("F32", experts),
        "down_proj_activation_scale": scales("F32", experts),
    }


def _by_transformers(declared: Declared) -> bool:
    """Whether transformers wrote the config: it writes these keys always (FineGrainedFP8Config)."""
    return {"dequantize", "modules_to_not_convert"} <= declared.values.keys()


def _has_part(prediction: Prediction, name: str) -> bool:
    """Whether modules of these classes are in the model, as its own or as a backbone's."""
    return any(module.class_name.startswith(name) for module in each_module(prediction.root))


def _has_other_parts(prediction: Prediction) -> bool:
    return any(spec.part != "text" for spec, _ in prediction.tensors.counted())


def _fbgemm_plan(
    config: Mapping[str, object], selection: Selection, prediction: Prediction
) -> PackedPlan:
    """A scale for each row; experts by the version (``has_experts_apart``)."""
    check_saved_as_packed(prediction, config)
    selection.add(no_linear_since_5(prediction), KEEP)
    apart = has_experts_apart(config, prediction)

    def pack(linear: Linear) -> PackedTensors | None:
        if linear.is_expert and apart is None:
            raise UndeterminedError(NO_VERSION)
        if linear.is_expert and not apart:
            return None
        return {
            "weight": weights("F8_E4M3", (linear.out, linear.inputs), linear.parameters, 8, "FP8"),
            "weight_scale": scales("F32", linear.out, 1),
        }

    return PackedPlan(pack, selection, classes=LINEARS)


class _Settings(NamedTuple):
    """``dtype`` of the weights, ``scale`` of the scales, which are one for each of ``blocks`` (rows
    and columns), or one for all; ``static`` activations have a scale too. ``names`` are those of
    the two scales, without ``weight`` in front; ``halved`` whether an expert's gate and up are
    halves of one tensor with scales (transformers), ``four`` whether experts have four bits."""

    dtype: str
    scale: str
    blocks: tuple[int, int] | None
    static: bool
    names: tuple[str, str] = ("scale_inv", "activation_scale")
    halved: bool = False
    four: bool = False

    def linear(self, linear: Linear) -> PackedTensors:
        out = linear.out
        inputs = linear.inputs
        if linear.is_expert and self.four:
            return self.four_bits("weight", (), out, inputs, "weight_scale_inv")
        static = self.static
        if static and linear.is_expert and self.names[1] == "activation_scale":
            if not self.halved:
                raise UndeterminedError("where the scales of experts' activations are is not known")
            static = False  # two tensors for all experts: ``_inputs_of_experts``
        if linear.is_expert and self.halved and self._splits(out):
            raise UndeterminedError(
                f"the {self.blocks} blocks of an expert's gate and up are not halves of what "
                "transformers keeps joined"
            )
        # One scale for all of an expert keeps the axes of the tensor that holds all experts.
        shape = self.scales_of(out, inputs) if self.blocks or linear.is_expert else ()
        tensors = {
            "weight": weights(self.dtype, (out, inputs), out * inputs, 8, "FP8"),
            f"weight_{self.names[0]}": scales(self.scale if self.blocks else "F32", *shape),
        }
        return {**tensors, self.names[1]: scales("F32")} if static else tensors

    def four_bits(
        self, name: str, experts: tuple[int, ...], out: int, inputs: int, scale: str
    ) -> dict[str, Parameter]:
        """Two values a byte, and a scale for 32 of a row."""
        groups = exact(inputs, 32, "the width")
        count = prod(experts) * out * inputs
        return {
            name: weights("I8", (*experts, out, inputs // 2), count, 4, "MXFP4"),
            scale: scales(self.scale, *experts, out, groups),
        }

    def _splits(self, out: int) -> bool:
        """Whether gate and up, joined, have a block with rows of both."""
        high = self.blocks[0] if self.blocks else 1
        return parts(2 * out, high) != 2 * parts(out, high)

    def scales_of(self, out: int, inputs: int) -> tuple[int, int]:
        high, wide = self.blocks or (out, inputs)
        return parts(out, high), parts(inputs, wide)


def _settings(
    declared: Declared, config: Mapping[str, object], prediction: Prediction
) -> _Settings:
    dtype = _FORMATS.get(declared.text("fmt"))
    if dtype is None:
        raise UndeterminedError(f"fmt {declared.text('fmt')!r:.40} is not known")
    scale = "F32"
    if declared.text("scale_fmt") == "ue8m0":
        if _by_transformers(declared):
            scale = "F8_E8M0"
        elif prediction.model_type not in _WIDE_SCALES:
            raise UndeterminedError("scales of the format ue8m0 are kept in several dtypes")
    of_experts = declared.text("expert_dtype") or _text(config.get("expert_dtype"))
    four = of_experts == "fp4" and scale == "F8_E8M0"
    if of_experts not in ("", "fp8") and not four:
        raise UndeterminedError("its experts have another dtype than the other modules")
    static = declared.text("activation_scheme") == "static"
    blocks = declared.values.get("weight_block_size")
    if blocks is None:
        keys = {"weight_block_size", "modules_to_not_convert"}
        if keys.isdisjoint(declared.values):
            return _Settings(dtype, "F32", None, static, ("scale", "input_scale"))
        return _Settings(dtype, "F32", None, static, halved=_by_transformers(declared))
    if not (isinstance(blocks, list) and len(blocks) == 2 and all(map(_is_size, blocks))):
        raise UndeterminedError(f"weight_block_size {blocks!r:.40} is not a pair of sizes")
    pair = blocks[0], blocks[1]
    return _Settings(dtype, scale, pair, static, halved=_by_transformers(declared), four=four)


def _text(value: object) -> str:
    return value.lower() if isinstance(value, str) else ""


def _is_size(value: object) -> bool:
    return type(value) is int and value > 0


#: Experts in two tensors, what goes into them and what comes out: by their names (or, where each
#: is in a module of its own, by the modules' names) what the scales are called.
_GATE_UP = "gate_up_proj"
_DOWN = "down_proj"
_PAIRS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {_GATE_UP: (_DOWN, "_scale_inv"), "w13_weight": ("w2_weight", "_scale")}
)
#: GraniteMoE's modules, of which transformers renames the weights alone.
_GRANITE = MappingProxyType({"input_linear": _GATE_UP, "output_linear": _DOWN})
#: Classes with one map of all experts: ``gate_proj.weight`` (experts, out, in).
_EACH = frozenset({"Step3p7MoELinear"})
#: Model types of which transformers saves scales under names that it does not read.
_MIXED_UP = frozenset({"inkling_mm_model", "inkling_model"})


def _experts(
    declared: Declared, config: Mapping[str, object], prediction: Prediction
) -> FusedScheme:
    """Experts in one tensor (``FP8Experts``): (experts, out, in) here, whatever the order is when
    nothing is packed, with scales for each expert."""

    def pack(fused: Fused) -> PackedTensors:
        packed = _settings(declared, config, prediction)
        names = fused.siblings
        if fused.module in _EACH and not packed.static:
            return _all_experts(fused.shape, packed, fused.name, f"{fused.name}_scale_inv")
        if fused.module_name in _GRANITE and packed.halved and not packed.static:
            scale = f"../experts.{_GRANITE[fused.module_name]}_scale_inv"
            least = 1 + (fused.module_name == "input_linear")
            return _all_experts(fused.shape, packed, fused.name, scale, least=least)
        first = next((name for name in _PAIRS if name in names), "")
        second, ending = _PAIRS.get(first, ("", ""))
        if names.keys() != {first, second} or prediction.model_type in _MIXED_UP:
            listed = ", ".join(sorted(names))
            raise UndeterminedError(
                f"experts in tensors of these names are not known: {listed:.80}"
            )
        experts, out, inputs = fused.shape
        if _is_transposed(names[first], names[second]):
            out, inputs = inputs, out
        scale = f"{fused.name}{ending}"
        least = 1 + (fused.name == first)
        tensors = _all_experts((experts, out, inputs), packed, fused.name, scale, least=least)
        if packed.static:
            tensors[f"{fused.name}_activation_scale"] = scales("F32", experts)
        return tensors

    return pack


def _all_experts(
    shape: tuple[int, ...], packed: _Settings, name: str, scale: str, *, least: int = 1
) -> dict[str, Parameter]:
    """``least``: gate and up have rows of scales of their own."""
    experts, out, inputs = shape
    if packed.four:
        return packed.four_bits(name, (experts,), out, inputs, scale)
    high, wide = packed.scales_of(out, inputs)
    dtype = packed.scale if packed.blocks else "F32"
    return {
        name: weights(packed.dtype, shape, experts * out * inputs, 8, "FP8"),
        scale: scales(dtype, experts, max(high, least), wide),
    }


def _is_transposed(gate_up: tuple[int, ...], down: tuple[int, ...]) -> bool:
    """Whether two tensors are (experts, in, out): the width of the model is then that which goes
    into the first and comes out of the second."""
    if len(gate_up) != 3 or len(down) != 3:
        raise UndeterminedError(f"experts of the shape {gate_up} are not known")
    return gate_up[1] == down[2] and gate_up[2] == 2 * down[1]
