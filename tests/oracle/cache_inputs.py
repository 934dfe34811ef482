"""What single model types need for one forward that fills their cache, where ids alone do not do.

``INSIDE`` names the module that ``generate`` calls for each token, where the class itself returns
no cache. ``GIVEN`` are config keys of small models: sizes that the library's own code needs to run.
``OF_CLASS`` makes inputs, and ``WIDTHS`` says how wide an encoder's output is that stands in for
the encoder's own inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

#: Positions of what a decoder looks at: of the encoder's output.
SEEN = 5

INSIDE = {
    "BlipForConditionalGeneration": "text_decoder",
    "Blip2ForConditionalGeneration": "language_model",
    "ClvpModelForConditionalGeneration": "speech_decoder_model",
    "InstructBlipForConditionalGeneration": "language_model",
    "InstructBlipVideoForConditionalGeneration": "language_model",
    "Kosmos2ForConditionalGeneration": "text_model",
    # Without a picture the class fails once its text model has run.
    "Llama4ForConditionalGeneration": "language_model",
    "Qwen2_5OmniForConditionalGeneration": "thinker",
    "Qwen3OmniMoeForConditionalGeneration": "thinker",
    "RagTokenForGeneration": "rag.generator",
    "RagSequenceForGeneration": "rag.generator",
}

GIVEN: dict[str, dict[str, Any]] = {
    "BlipTextLMHeadModel": {"max_position_embeddings": 40},
    "LongcatFlashForCausalLM": {"head_dim": 4},
    "xLSTMForCausalLM": {"hidden_size": 128},
}

#: Classes without a small model, by model_type: run at the library's own sizes.
LIBRARY = {
    "gemma3n": "Gemma3nForConditionalGeneration",
    "mllama_text_model": "MllamaForCausalLM",
    "molmo2": "Molmo2ForConditionalGeneration",
    "qwen3_omni_moe_talker_code_predictor": (
        "Qwen3OmniMoeTalkerCodePredictorModelForConditionalGeneration"
    ),
}

#: Width of the encoder's output, by class.
WIDTHS: dict[str, str] = {
    "CanaryForConditionalGeneration": "decoder_config.hidden_size",
    "EncoderDecoderModel": "encoder.hidden_size",
    "MusicgenForConditionalGeneration": "text_encoder.hidden_size",
    "Pix2StructForConditionalGeneration": "text_config.hidden_size",
    "SpeechEncoderDecoderModel": "encoder.hidden_size",
    "SpeechT5ForSpeechToText": "hidden_size",
    "SwitchTransformersForConditionalGeneration": "d_model",
    "UdopForConditionalGeneration": "d_model",
    "VisionEncoderDecoderModel": "encoder.hidden_size",
}


def _zeros(model: Any, *shape: int) -> Any:
    import torch

    return torch.zeros(shape, dtype=model.dtype)


def _two_voices(model: Any, ids: Any) -> dict[str, Any]:
    codes = ids[:, None].expand(1, model.num_codebooks, ids.shape[1])
    return {"input_ids": ids, "moshi_audio_codes": codes, "user_audio_codes": codes}


def _replies(model: Any, ids: Any) -> dict[str, Any]:
    width = model.config.embedding_size
    return {"input_ids": ids, "thinker_reply_part": _zeros(model, 1, ids.shape[1], width)}


def _looking(model: Any, ids: Any) -> dict[str, Any]:
    seen = _zeros(model, 1, SEEN, model.config.encoder_hidden_size)
    return {"input_ids": ids, "encoder_hidden_states": seen}


def _patched(model: Any, ids: Any) -> dict[str, Any]:
    """A cache that reads no config: BltConfig does not say the layers that DynamicCache wants."""
    from transformers import DynamicCache, EncoderDecoderCache

    cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
    return {"input_ids": ids, "past_key_values": cache}


def _set_up(model: Any, ids: Any) -> dict[str, Any]:
    from transformers import DynamicCache

    model.model._setup_cache(model.config, 1, ids.device, model.dtype)
    return {"input_ids": ids, "past_key_values": DynamicCache(config=model.config)}


def _heard(model: Any, ids: Any) -> dict[str, Any]:
    config = model.config
    frames = ids.shape[1] * config.downsample_factor
    width = config.audio_config.hidden_size
    return {"input_ids": ids, "encoder_inputs_embeds": _zeros(model, 1, frames, width)}


def _embedded(model: Any, ids: Any) -> dict[str, Any]:
    return {"inputs_embeds": _zeros(model, 1, ids.shape[1], model.config.hidden_size)}


def _in_language(model: Any, ids: Any) -> dict[str, Any]:
    model.set_default_language(model.config.languages[0])
    return {"input_ids": ids}


OF_CLASS: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "BlipForConditionalGeneration": _looking,
    "BltForCausalLM": _patched,
    "MoshiForConditionalGeneration": _two_voices,
    "Qwen2_5OmniTalkerForConditionalGeneration": _replies,
    "Qwen3OmniMoeTalkerCodePredictorModelForConditionalGeneration": _embedded,
    "RecurrentGemmaForCausalLM": _set_up,
    "VoxtralRealtimeForConditionalGeneration": _heard,
    "XmodForCausalLM": _in_language,
}


def what_runs(model: Any) -> Any:
    """The module whose forward fills the cache."""
    path = INSIDE.get(type(model).__name__)
    return attrgetter(path)(model) if path else model


def inputs_of(whole: Any, ids: Any) -> dict[str, Any] | None:
    """The inputs of ``what_runs(whole)`` next to ``use_cache``; None where the usual ones do."""
    from transformers.modeling_outputs import BaseModelOutput

    name = type(whole).__name__
    model = what_runs(whole)
    if name in WIDTHS:
        seen = BaseModelOutput(_zeros(model, 1, SEEN, attrgetter(WIDTHS[name])(model.config)))
        seen.attention_mask = seen.router_logits = None
        return {"decoder_input_ids": ids, "encoder_outputs": seen}
    return OF_CLASS[name](model, ids) if name in OF_CLASS else None


def settle(model: Any) -> None:
    """Rotations in several parts: as many pairs as a small head has, not the library's number."""
    for module in model.modules():
        if hasattr(module, "mrope_section") and hasattr(module, "inv_freq"):
            pairs = module.inv_freq.shape[-1]
            parts = len(module.mrope_section or "HWXY")
            if sum(module.mrope_section or ()) != pairs:
                each = pairs // parts
                module.mrope_section = [pairs - each * (parts - 1), *[each] * (parts - 1)]


def held_by_modules(model: Any) -> list[list[Any]]:
    """[layer, class, name, shape, dtype] of states that mixers keep themselves, in no cache."""
    tensors = []
    for i, layer in enumerate(getattr(model.base_model, "layers", ())):
        for module in layer.modules():
            for name in ("conv1d_state", "recurrent_states"):
                state = getattr(module, name, None)
                if state is not None:
                    dtype = str(state.dtype).removeprefix("torch.")
                    tensors.append([i, type(module).__name__, name, list(state.shape), dtype])
    return tensors
