"""The GGUF file that llama.cpp's converter makes of a model: names, shapes, what stays in float32.

Source: conversion/ of llama.cpp (``prepare_tensors`` in base.py, ``modify_tensors`` of the
families), commit 0c1e57098, read in November 2026. Only the classes in ``_CLASSES`` are known, and
only where every tensor of the text model has a known name: each class was compared, tensor by
tensor, with what the converter wrote (fixtures/oracle/gguf_types.json).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ...analysis.gguf.llama_cpp_names import gguf_name, is_left_out
from ...core.components import Role
from ...core.results import Inspection
from ...core.tensor import TensorInfo, TensorSpec
from ...trees.prediction import Prediction
from .ggml_mixes import GgufModel, GgufTensor

#: Class -> ``general.architecture`` of the file.
_CLASSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ArceeForCausalLM": "arcee", "BertModel": "bert", "BloomForCausalLM": "bloom",
        "Cohere2MoeForCausalLM": "cohere2moe", "CohereForCausalLM": "command-r",
        "Ernie4_5ForCausalLM": "ernie4_5", "Exaone4ForCausalLM": "exaone4",
        "FalconForCausalLM": "falcon", "Gemma2ForCausalLM": "gemma2", "GemmaForCausalLM": "gemma",
        "Glm4ForCausalLM": "glm4", "GlmForCausalLM": "chatglm", "GraniteForCausalLM": "granite",
        "HunYuanDenseV1ForCausalLM": "hunyuan-dense", "Jais2ForCausalLM": "jais2",
        "LlamaForCausalLM": "llama", "MellumForCausalLM": "mellum",
        "MiniCPM3ForCausalLM": "minicpm3", "MistralForCausalLM": "llama",
        "MixtralForCausalLM": "llama", "NemotronForCausalLM": "nemotron",
        "Olmo2ForCausalLM": "olmo2", "Olmo3ForCausalLM": "olmo2", "OlmoForCausalLM": "olmo",
        "OlmoeForCausalLM": "olmoe", "Phi3ForCausalLM": "phi3", "Qwen2ForCausalLM": "qwen2",
        "Qwen2MoeForCausalLM": "qwen2moe", "Qwen2VLForConditionalGeneration": "qwen2vl",
        "Qwen2_5_VLForConditionalGeneration": "qwen2vl", "Qwen3ForCausalLM": "qwen3",
        "Qwen3MoeForCausalLM": "qwen3moe", "Qwen3VLForConditionalGeneration": "qwen3vl",
        "SeedOssForCausalLM": "seed_oss", "SmolLM3ForCausalLM": "smollm3",
        "StableLmForCausalLM": "stablelm", "Starcoder2ForCausalLM": "starcoder2",
    }
)  # fmt: skip

#: Modules whose matrices the converter keeps in float32.
_FLOAT32: Final = frozenset(
    "ffn_gate_inp ffn_gate_inp_shexp position_embd token_types ssm_conv1d conv".split()
)
#: (architecture, layers) of what llama.cpp calls a 70B model: ``load_hparams`` of src/models/.
_70B: Final = frozenset({("llama", 80), ("qwen2", 80), ("deci", 80), ("olmo", 80), ("jais2", 68)})


def gguf_model(found: Inspection, prediction: Prediction | None) -> GgufModel | str:
    """The file, or why it is not known."""
    if found.format == "gguf":
        return _as_read(found)
    if prediction is None or prediction.family is None:
        return "the catalog does not know the class"
    compared = found.expectation
    if found.source == "checkpoint" and compared is not None and compared.reshaped:
        return "the files hold other shapes than config.json says"
    return prediction.made("gguf", found.facts, lambda: _converted(found, prediction))


def _converted(found: Inspection, prediction: Prediction) -> GgufModel | str:
    architecture = _CLASSES.get(prediction.architecture)
    if architecture is None:
        return f"what llama.cpp's converter makes of {prediction.architecture} is not known here"
    groups: dict[str, list[TensorSpec]] = {}
    for spec in prediction.tensors:
        if spec.role is not Role.PARAMETER or spec.part != "text":
            continue
        if is_left_out(spec, architecture):
            continue
        name = gguf_name(spec, architecture)
        if name is None:
            return f"llama.cpp's name of {spec.name} is not known"
        groups.setdefault(name, []).append(spec)
    facts = found.facts
    tensors = [_joined(name, specs) for name, specs in groups.items()]
    rope = (found.config or {}).get("rope_parameters") or (found.config or {}).get("rope_scaling")
    if isinstance(rope, Mapping) and "llama3" in (rope.get("rope_type"), rope.get("type")):
        if architecture != "llama" or not facts.heads or not facts.width:
            return "its factors of positions are not known"
        width = facts.head_dim or facts.width // facts.heads
        tensors.append(GgufTensor("rope_freqs.weight", (width // 2,), "F32"))
    heads, kv_heads = facts.heads or 0, facts.kv_heads or facts.heads or 0
    return _model(
        architecture, facts.layers or 0, facts.experts or 0, heads, kv_heads, tensors
    )  # fmt: skip


def _joined(name: str, specs: list[TensorSpec]) -> GgufTensor:
    """One tensor of the file: experts one by one are stacked."""
    shape = specs[0].shape
    if len(specs) > 1:
        shape = (len(specs), *shape)
    return GgufTensor(name, shape, "F32" if len(shape) < 2 or _stays_wide(name) else "BF16")


def _stays_wide(name: str) -> bool:
    module, _, last = name.rpartition(".")
    return last != "weight" or module.endswith("_norm") or module.split(".")[-1] in _FLOAT32


def _model(
    architecture: str, layers: int, experts: int, heads: int, kv_heads: int,
    tensors: list[GgufTensor],
) -> GgufModel:  # fmt: skip
    is_70b = (architecture, layers) in _70B and (architecture != "llama" or heads != kv_heads)
    groups = heads // kv_heads if kv_heads else 0
    return GgufModel(architecture, layers, experts, groups, is_70b, tuple(tensors))


def _as_read(found: Inspection) -> GgufModel | str:
    """A GGUF file's own tensors, as they were before they were quantised."""
    metadata = found.metadata
    architecture = metadata.get("general.architecture")
    if not isinstance(architecture, str):
        return "the file names no architecture"
    heads = _first(metadata.get(f"{architecture}.attention.head_count"))
    kv_heads = _first(metadata.get(f"{architecture}.attention.head_count_kv"), heads)
    layers = _first(metadata.get(f"{architecture}.block_count"))
    if layers is None or (heads is None) != (kv_heads is None):
        return "the file does not say its layers and heads"
    experts = _first(metadata.get(f"{architecture}.expert_count")) or 0
    tensors = [_before(tensor) for tensor in found.tensors]
    return _model(architecture, layers, experts, heads or 0, kv_heads or 0, tensors)


def _before(tensor: TensorInfo) -> GgufTensor:
    return GgufTensor(tensor.name, tensor.shape, "F32" if tensor.dtype == "F32" else "BF16")


def _first(value: object, absent: int | None = None) -> int | None:
    """A number, or the first of an array of one for each layer."""
    if isinstance(value, list) and value:
        value = value[0]
    return value if type(value) is int else absent
