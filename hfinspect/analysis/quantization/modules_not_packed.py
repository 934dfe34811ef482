"""What transformers keeps as it is where a config lists no modules, and what it always keeps.

Source: transformers/quantizers/base.py (``get_keys_to_not_convert``): tied modules, the module of
the last parameter where that is a weight, and the output head; and ``_keep_in_fp32_modules`` of the
model classes, which ``get_modules_to_not_convert`` adds to any list.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ...core.components import Component, Role
from ...core.tensor import TensorSpec
from ...trees.modules import Module, Parameter
from ...trees.prediction import Prediction
from .packed_layout import UndeterminedError

#: T5's last map of each MLP, in these and in whatever has T5 as a part.
_T5 = ("DenseReluDense.wo",)
_INDEXER = ("indexer.weights_proj",)
#: Model type -> linear maps that its classes keep in float32 (``_keep_in_fp32_modules``).
_WIDE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "longt5": (),
        "switch_transformers": (),
        "pix2struct": (),
        "pix2struct_text_model": (),
        "axk2": _INDEXER,
        "deepseek_v32": _INDEXER,
        "glm_moe_dsa": _INDEXER,
        "mistral_large4": _INDEXER,
        "mistral_large4_text": _INDEXER,
        "deepseek_v4": ("compressor.wgate", "compressor.wkv", *_INDEXER),
        "blip-2": ("qformer", *_T5),
    }
)
#: Model type -> modules that files call like a Linear, and that transformers since version 5 has
#: in a class of another kind.
_NO_LINEAR: Mapping[str, tuple[str, ...]] = MappingProxyType(
    dict.fromkeys(
        ("granitemoe", "granitemoehybrid", "granitemoeshared"), ("block_sparse_moe.router.layer",)
    )
)
#: Heads of parts that ``get_output_embeddings`` of the whole does not return.
_NO_OUTPUT = tuple(
    """joint.head code_predictor.lm_head talker.codec_head thinker.lm_head semantic.lm_head
    coarse_acoustics.lm_head predictions.dense structure_generator.fc2 head.head head.fc2""".split()
)
#: Classes whose head is no output embedding.
_OTHER_HEADS = ("ForCTC", "ForMaskedImageModeling")


def never_packed(prediction: Prediction) -> tuple[str, ...]:
    """Ends of the names of modules that are never packed."""
    return _WIDE.get(prediction.model_type or "", _T5)


#: Since this version transformers has the experts of a layer in one tensor, which its quantizers
#: for Linear pass over.
_JOINS_EXPERTS = 5
NO_VERSION = "config.json names no transformers_version, which decides whether experts are packed"


def has_experts_apart(config: Mapping[str, object], prediction: Prediction) -> bool | None:
    """Whether the transformers that wrote a config had a Linear of each expert, None if not
    known."""
    if prediction.model_type in _STILL_APART:
        return True
    text = config.get("transformers_version")
    first = text.partition(".")[0] if isinstance(text, str) else ""
    return int(first) < _JOINS_EXPERTS if first.isdecimal() and len(first) < 4 else None


#: Model types of which version 5 has a Linear of each expert too.
_STILL_APART = frozenset({"nllb-moe", "switch_transformers"})
#: Model types of which files join what version 5 keeps apart, or call it otherwise: a save puts
#: packed bytes of several modules behind each other, or scales under other names.
_REARRANGED = frozenset(
    """gte hrm_text inkling_mm_model jina_embeddings_v3 minimax_m3_vl molmo2_text nomic_bert phimoe
    qianfan_ocr radio sapiens2 step3p5_vision step3p7 tipsv2 tipsv2_dpt tipsv2_text_model
    tipsv2_vision_model unlimited_ocr unlimited_ocr_vision""".split()
)
NOT_AS_NAMED = "transformers does not save what it packs under the names that the files have"


def check_saved_as_packed(prediction: Prediction, config: Mapping[str, object]) -> None:
    """Raise UndeterminedError where version 5 does not save modules as it has packed them."""
    if prediction.model_type in _REARRANGED and not has_experts_apart(config, prediction):
        raise UndeterminedError(NOT_AS_NAMED)


def no_linear_since_5(prediction: Prediction) -> tuple[str, ...]:
    """Ends of the names of what only looks like a Linear to transformers 5."""
    return _NO_LINEAR.get(prediction.model_type or "", ())


def unlisted_modules(prediction: Prediction) -> list[str]:
    """Full names of the modules that stay as they are where a config lists none."""
    names = {name for pair in prediction.tied.items() for name in pair}
    heads = set()
    for place in prediction.tensors.places():  # templates: most layers are copies
        for spec in place.template.rows:
            if spec.component is Component.HEAD and spec.kind == "lm_head" and _is_matrix(spec):
                heads.add(place.head + spec.name)
    heads = {name for name in heads if not any(part in name for part in _NO_OUTPUT)}
    if prediction.architecture.endswith(_OTHER_HEADS):
        heads = set()
    last = None if heads else _last_parameter(prediction.root)
    unpacked = names | heads | ({last} if last else set())
    return sorted(name.removesuffix(".weight") for name in unpacked)


def _is_matrix(spec: TensorSpec) -> bool:
    return len(spec.shape) == 2 and spec.role is Role.PARAMETER


def _last_parameter(module: Module) -> str | None:
    """The last of torch's ``named_parameters``: those of a module itself come before those of the
    modules in it, and what is tied has been named before."""
    if not module.saved:
        return None
    for name, child in reversed(module.children.items()):
        if isinstance(child, Module):
            last = _last_parameter(child)
            if last is not None:
                return f"{name}.{last}"
    for name, child in reversed(module.children.items()):
        if isinstance(child, Parameter) and _is_own(child):
            return name
    return None


def _is_own(tensor: Parameter) -> bool:
    return tensor.role is Role.PARAMETER and tensor.saved and tensor.tied_to is None
