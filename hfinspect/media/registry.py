"""All rules by model type, and why the others have none."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from ..core.media_tokens import AudioItem, ImageItem, MediaItem, MediaTokens, VideoItem
from .processor_settings import ProcessorSettings, UnknownTokensError
from .rule import REGISTERED, ItemTokens, TokenRule

# A file each; its rules register themselves.
for _file in """any_resolution canvases encoder_positions fixed_length image_slices omni_processors
pixel_budget rows_of_patches soft_tokens sound_frames sound_samples split_images tiles""".split():
    import_module(f".{_file}", __package__)

#: Model type -> how its processor counts.
RULES: Final[Mapping[str, TokenRule]] = REGISTERED

_OWN_CODE: Final = "its processor is code in its own repo, which is never run"
_NO_TEXT: Final = "it takes no image or sound into a text that it writes"
_CROSS: Final = "its decoder hears through cross-attention, whose positions have no rule yet"
_FRAMES: Final = "it writes frame by frame what it hears, and has no prompt"
_SPEAKS: Final = "it is made to speak, not to hear"
_TEMPLATE: Final = "its image tokens are written by its chat template, not by its processor"
_BOXES: Final = "which patches of a page it keeps depends on the boxes of the words"
_WHILE: Final = "it hears while it writes: each of its positions holds a piece of the sound"

#: Why a type of the catalog that sees or hears has no rule.
REFUSED: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        "DeepseekOCR DeepseekOCR2 EvollaModel GOT cogvlm cogvlm2 deepseek_vl_v2 deepseekocr "
        "deepseekocr2 dots_ocr ernie4_5_moe_vl h2ovl_chat internvl_chat kimi_vl llava_gemma "
        "llava_llama llava_mistral llava_mixtral llava_qwen locateanything maira2 minicpmv molmo "
        "moondream1 multi_modality phi3_v phi4mm skywork_chat ultravox".split(),
        _OWN_CODE,
    ),
    **dict.fromkeys(
        "aimv2 altclip blip_2_qformer bridgetower clap clipseg colmodernvbert evolla flava "
        "grounding-dino groupvit idefics2_perceiver instructblip_qformer "
        "instructblipvideo_qformer layoutlmv3 mistral4 mm-grounding-dino modernvbert neomme "
        "omdet-turbo pe_audio sam3 sam3_lite_text sam3_video tipsv2 tvp ultravbert videoprism vilt "
        "vision-text-dual-encoder xclip".split(),
        _NO_TEXT,
    ),
    **dict.fromkeys(
        "canary cohere_asr moonshine moonshine_streaming pop2piano seamless_m4t seamless_m4t_v2 "
        "speech-encoder-decoder speech_to_text".split(),
        _CROSS,
    ),
    **dict.fromkeys(
        "data2vec-audio granite_speech5_ctc hubert lasr_ctc omniasr_ctc parakeet_ctc sew sew-d "
        "unispeech unispeech-sat wav2vec2 wav2vec2-bert wav2vec2-conformer wavlm".split(),
        _FRAMES,
    ),
    **dict.fromkeys(
        "bark csm dia higgs_audio_v2 musicgen musicgen_melody pocket_tts speecht5 vits".split(),
        _SPEAKS,
    ),
    **dict.fromkeys(("kyutai_speech_to_text", "voxtral_realtime"), _WHILE),
    "pp_chart2table": _TEMPLATE,
    "udop": _BOXES,
}


def count_tokens(
    item: MediaItem,
    model_type: str | None,
    config: Mapping[str, Any],
    files: Mapping[str, Mapping[str, Any]],
    count: int = 1,
) -> MediaTokens:
    """Tokens of one item, and how they come about.

    ``config`` is config.json, ``files`` are the processor's small files by name. Never raises: what
    is not known is said in ``unknown``.
    """
    try:
        rule = find_rule(model_type)
        settings = ProcessorSettings(model_type or "", config, files)
        counted = _counted(rule, item, settings)
    except UnknownTokensError as error:
        return MediaTokens(item.kind, item.label, count, None, unknown=str(error))
    except ArithmeticError:  # a patch larger than its square, and the like
        reason = f"the settings of its processor leave no patches of {item.label}"
        return MediaTokens(item.kind, item.label, count, None, unknown=reason)
    return MediaTokens(
        item.kind,
        item.label,
        count,
        counted.tokens,
        counted.cross,
        derivation=counted.steps,
        settings=settings.source,
    )


def find_rule(model_type: str | None) -> TokenRule:
    """How a model type counts. Raises UnknownTokensError with the reason."""
    rule = RULES.get(model_type or "")
    if rule is None:
        reason = REFUSED.get(model_type or "", "it is not known to see or hear")
        raise UnknownTokensError(f"{model_type or 'a model without model_type'}: {reason}")
    return rule


def _counted(rule: TokenRule, item: MediaItem, settings: ProcessorSettings) -> ItemTokens:
    if isinstance(item, ImageItem):
        return rule.image(item, settings)
    if isinstance(item, VideoItem):
        return rule.video(item, settings)
    assert isinstance(item, AudioItem)
    return rule.audio(item, settings)
