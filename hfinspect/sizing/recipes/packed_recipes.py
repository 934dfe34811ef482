"""Recipes that are a ``quantization_config``: what each tool writes by default, for any model.

The layouts are those of the catalog (``analysis/quantization``), as for a checkpoint whose config
names the method. What stays as it is: the output head, the routers of experts, and the parts for
images and sound; for MLX nothing of it, for bitsandbytes what transformers keeps by itself.

Sources, of November 2026: llm-compressor's preset schemes (compressed_tensors/quantization/
quant_scheme.py), AutoAWQ's and GPTQModel's QuantizeConfig, transformers' FineGrainedFP8Config and
BitsAndBytesConfig, mlx_lm/convert.py.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...analysis.quantization.packing import Packing, packing
from ...core.components import Component, Role
from ...core.library_versions import TRANSFORMERS
from ...core.tensor import TensorSpec
from ...trees.prediction import Prediction
from .recipe_names import Recipe

#: The version of compressed-tensors whose rules are meant.
_COMPRESSED: Final = "0.14.0"

#: Keys under which a config, or a section of it, says how its own files are packed.
_DECLARED: Final = ("quantization_config", "compression_config", "quantization")


def packed_as(
    prediction: Prediction, config: Mapping[str, Any] | None, recipe: Recipe
) -> Packing | None:
    """How the tensors of a model lie in files of this recipe; ``Packing.findings`` say why where
    that does not follow."""
    bare = {**_without_declared(config or {}), "transformers_version": TRANSFORMERS}
    declared = _declared(recipe.name, prediction)
    return packing(prediction, {**bare, "quantization_config": declared})


def _without_declared(config: Mapping[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in config.items() if key not in _DECLARED}
    for key, value in rest.items():
        if isinstance(value, Mapping) and not value.keys().isdisjoint(_DECLARED):
            rest[key] = {k: v for k, v in value.items() if k not in _DECLARED}
    return rest


def _declared(name: str, prediction: Prediction) -> dict[str, Any]:
    """The section that the usual tool writes."""
    if name.startswith("MLX"):
        return {"group_size": 64, "bits": int(name[4])}
    if name == "MXFP4":
        return {"quant_method": "mxfp4"}
    if name in ("NF4", "NF4 double"):
        return {
            "quant_method": "bitsandbytes",
            "load_in_4bit": True,
            "bnb_4bit_quant_type": "nf4",
            "bnb_4bit_use_double_quant": name == "NF4 double",
            "bnb_4bit_quant_storage": "uint8",
        }
    if name == "LLM.int8()":
        return {"quant_method": "bitsandbytes", "load_in_8bit": True}
    stays = _stays(prediction)
    if name.startswith("GPTQ"):
        dynamic: dict[str, Any] = {f"-:{_expression(entry)}$": {} for entry in stays}
        return {
            "quant_method": "gptq",
            "bits": int(name[5]),
            "group_size": 128,
            "sym": True,
            "desc_act": False,
            "checkpoint_format": "gptq",
            "lm_head": False,
            "dynamic": dynamic,
        }
    if name == "AWQ 4-bit":
        return {
            "quant_method": "awq",
            "bits": 4,
            "group_size": 128,
            "zero_point": True,
            "version": "gemm",
            "modules_to_not_convert": [*stays, "lm_head"],
        }
    if name == "FP8 block":
        return {
            "quant_method": "fp8",
            "activation_scheme": "dynamic",
            "weight_block_size": [128, 128],
            "fmt": "e4m3",
            "modules_to_not_convert": [*stays, "lm_head"],
        }
    return _compressed(name, [f"re:{_expression(entry)}$" for entry in stays])


def _compressed(name: str, ignored: list[str]) -> dict[str, Any]:
    """compressed-tensors, as llm-compressor's schemes fill it in."""
    layout, weights, inputs = _SCHEMES[name]
    return {
        "quant_method": "compressed-tensors",
        "format": layout,
        "version": _COMPRESSED,
        "ignore": ignored,
        "config_groups": {
            "group_0": {
                "targets": ["Linear"],
                "weights": {"symmetric": True, "dynamic": False, **weights},
                "input_activations": inputs,
            }
        },
    }


_NVFP4: Final = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}

#: Recipe -> format, weights and input_activations.
_SCHEMES: Final[Mapping[str, tuple[str, dict[str, Any], dict[str, Any] | None]]] = {
    "FP8": (
        "float-quantized",
        {"num_bits": 8, "type": "float", "strategy": "channel"},
        {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True},
    ),
    "FP8 per tensor": (
        "float-quantized",
        {"num_bits": 8, "type": "float", "strategy": "tensor"},
        {"num_bits": 8, "type": "float", "strategy": "tensor", "dynamic": False},
    ),
    "INT8 W8A8": (
        "int-quantized",
        {"num_bits": 8, "type": "int", "strategy": "channel"},
        {"num_bits": 8, "type": "int", "strategy": "token", "dynamic": True},
    ),
    "W4A16": (
        "pack-quantized",
        {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128},
        None,
    ),
    "NVFP4": ("nvfp4-pack-quantized", _NVFP4, {**_NVFP4, "dynamic": "local"}),
    "NVFP4A16": ("nvfp4-pack-quantized", _NVFP4, None),
}


def _stays(prediction: Prediction) -> list[str]:
    """Modules that these tools leave as they are, the numbers of layers as ``*``."""

    def keep(spec: TensorSpec) -> bool:
        return (
            len(spec.shape) > 1
            and spec.role is Role.PARAMETER
            and (spec.part != "text" or spec.component in (Component.ROUTER, Component.HEAD))
        )

    return sorted(set(_starred(prediction.tensors.where(keep).names())))


_NUMBER: Final = re.compile(r"(?<=\.)\d+(?=\.|$)")


def _starred(names: Iterator[str]) -> Iterator[str]:
    for name in names:
        yield _NUMBER.sub("*", name.removesuffix(".weight"))


def _expression(name: str) -> str:
    return r"\d+".join(re.escape(piece) for piece in name.split("*"))
