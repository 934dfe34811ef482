"""The cache of a model at its own context and in its own dtype: one line of every report.

``memory`` starts from the same answers, so that one question has one number everywhere.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from ..core.cache_size import AT_ONCE, ENCODES, NO_CONFIG, NO_KEY_VALUES, UNCATALOGUED, CacheSize
from ..core.config import ModelConfig
from ..core.results import Totals
from ..trees.modules import Module, Parameter
from ..trees.prediction import Prediction
from .cache_request import CacheRequest
from .engines.interface import Engine
from .engines.registry import ENGINES, LOGICAL, OF_GGUF
from .kv_cache import cache_size, cached_layers, encodes_alone, unknown_layouts

#: Contexts that are shown where none is named, next to the model's own.
USUAL_CONTEXTS: Final = (8192, 32768)
#: Endings of classes that write one token after the other.
GENERATES: Final = tuple(
    """ForCausalLM LMHeadModel ForConditionalGeneration DoubleHeadsModel ForSpeechToText
    ForProteinText2Text EncoderDecoderModel""".split()
)
#: Classes that write one token after the other, and what they keep is not recorded.
_NOT_RECORDED: Final = frozenset(
    """BarkCoarseModel BarkModel BarkSemanticModel BlipForQuestionAnswering
    DiffusionGemmaForBlockDiffusion IdeficsForVisionText2Text ImageGPTForCausalImageModeling
    Nemotron3_5AsrForRNNT NemotronAsrStreamingForRNNT ParakeetForRNNT ParakeetForTDT
    SeamlessM4Tv2ForSpeechToSpeech SeamlessM4Tv2ForTextToSpeech SpeechT5ForTextToSpeech""".split()
)
#: Endings of classes that are the encoder of an encoder-decoder alone.
_ENCODERS: Final = ("EncoderModel", "GenerationEncoder", "NetEncoder")
#: Dtypes that a model computes in; its cache is in the same.
FLOATS: Final = ("BF16", "F16", "F32")
NOTHING_READ: Final[Mapping[str, Totals]] = MappingProxyType({})


def own_cache(
    prediction: Prediction | None,
    config: Mapping[str, Any] | None,
    context: int | None,
    heads: int | None,
    stored: Mapping[str, Totals] = NOTHING_READ,
) -> CacheSize | str:
    """What one sequence as long as the config allows needs at least, or why that is not known.

    ``context`` is that length (None where the config names none: then the longer of the usual
    ones), ``heads`` the key/value heads, ``stored`` the dtypes of weights that were read.
    """
    if prediction is None:
        return no_cache(prediction, config)
    key = (config, context, heads, stored)
    return prediction.memoized(
        "cache", key, lambda: _own_cache(prediction, config, context, heads, stored)
    )


def _own_cache(
    prediction: Prediction,
    config: Mapping[str, Any] | None,
    context: int | None,
    heads: int | None,
    stored: Mapping[str, Totals],
) -> CacheSize | str:
    reason = no_cache(prediction, config)
    if reason:
        return reason
    layers = cached_layers(prediction.root)
    unknown = unknown_layouts(layers)
    if unknown:
        return "; ".join(unknown)
    if not any(layer.cache for layer in layers):
        return AT_ONCE
    engine = LOGICAL
    dtype, assumed = cache_dtype(prediction, engine, stored)
    request = CacheRequest(
        tokens=context or USUAL_CONTEXTS[-1],
        batch=1,
        dtype=dtype,
        heads=heads,
        state_dtype=state_dtype(prediction, dtype),
        encoder_tokens=encoder_positions(prediction.root),
    )
    return cache_size(layers, engine, request, assumed=assumed)


def no_cache(
    prediction: Prediction | None, config: Mapping[str, Any] | None, *, is_gguf: bool = False
) -> str:
    """Why there is no cache to size; empty where there may be one."""
    if prediction is None or prediction.family is None:
        if is_gguf and not config:
            return NO_KEY_VALUES
        return UNCATALOGUED if config else NO_CONFIG
    if prediction.family.category == "encoder-decoder" and encodes_alone(prediction.root):
        return ENCODES
    if prediction.architecture.endswith(_ENCODERS) and not _decodes(config):
        return ENCODES
    if _generates(prediction, config):
        return ""
    if prediction.architecture in _NOT_RECORDED:
        return "what it keeps between tokens is not recorded"
    return ENCODES if prediction.family.category == "encoder" else AT_ONCE


def _decodes(config: Mapping[str, Any] | None) -> bool:
    return ModelConfig(config or {}).flag("is_decoder", default=False)


def _generates(prediction: Prediction, config: Mapping[str, Any] | None) -> bool:
    """Whether the class writes tokens one after the other, and so keeps anything between them."""
    family = prediction.family
    category = family.category if family else ""
    if family is not None and prediction.architecture in family.generates:
        return True
    if category == "encoder":
        return _decodes(config) and prediction.architecture.endswith(GENERATES)
    return category in ("text decoder", "encoder-decoder") or prediction.architecture.endswith(
        GENERATES
    )


def cache_dtype(
    prediction: Prediction,
    engine: Engine,
    stored: Mapping[str, Totals] = NOTHING_READ,
    *,
    is_gguf: bool = False,
) -> tuple[str, str]:
    """The dtype of keys and values where nobody chose one, and why it is taken where the config
    does not say it."""
    chooses = ENGINES[OF_GGUF] if is_gguf else engine
    if chooses.default_cache_dtype is not None:
        return chooses.default_cache_dtype, f"{chooses.name}'s default"
    if prediction.dtype in FLOATS:
        return prediction.dtype, ""
    most = max(stored, key=lambda name: stored[name].nbytes or 0, default="")
    if most in FLOATS:
        return most, "as the weights are"
    return "BF16", "the config names no dtype"


def state_dtype(prediction: Prediction, dtype: str) -> str:
    """The dtype of states that the model does not fix, next to a cache in ``dtype``."""
    predicted = prediction.dtype
    return next((one for one in (predicted, dtype) if one in FLOATS), "BF16")


def encoder_positions(root: Module) -> int | None:
    """Positions that an encoder of sound always gives out, whatever it hears: Whisper's table. None
    where their number is that of the input."""
    waiting = [root]
    while waiting:
        module = waiting.pop()
        # Equal layers and experts are one module listed many times.
        for child in {id(child): child for child in module.children.values()}.values():
            if not isinstance(child, Module):
                continue
            weight = child.children.get("weight")
            is_table = child.kind == "position" and child.saved and isinstance(weight, Parameter)
            if module.part == "audio" and is_table and isinstance(weight, Parameter):
                return int(weight.shape[0])
            if not child.kind:
                waiting.append(child)
    return None
