"""What a first screen says of images and sounds: the tokens of a usual one, from files that are
there already or from config.json alone where that declares them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.media_tokens import NOT_READ, USUAL, AudioItem, ImageItem, MediaItem, MediaTokens
from .processor_settings import ProcessorSettings, SettingsPart, UnknownTokensError
from .registry import RULES, count_tokens
from .rule import NoSuchPartError, TokenRule


def usual_tokens(
    model_type: str | None, config: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]
) -> tuple[MediaTokens, ...]:
    """Of an image of 1,024 pixels and a sound of 30 seconds, where the type has a rule and takes
    such. ``files`` are the processor's small files, none where none was read."""
    rule = RULES.get(model_type or "")
    if rule is None:
        return ()
    settings = ProcessorSettings(model_type or "", config, files)
    items = [item for item in USUAL if _takes(rule, item, settings)]
    if files:
        return tuple(count_tokens(item, model_type, config, files) for item in items)
    return tuple(_declared(item, settings) for item in items)


def _takes(rule: TokenRule, item: MediaItem, settings: ProcessorSettings) -> bool:
    try:
        if isinstance(item, ImageItem):
            rule.image(item, settings)
        elif isinstance(item, AudioItem):
            rule.audio(item, settings)
    except NoSuchPartError:
        return False
    except (UnknownTokensError, ArithmeticError):
        return True
    return True


def _declared(item: MediaItem, settings: ProcessorSettings) -> MediaTokens:
    count = _DECLARED.get((settings.model_type, item.kind))
    if count is None:
        return MediaTokens(item.kind, item.label, 1, None, unknown=NOT_READ)
    try:
        tokens = count(settings.section())
    except (UnknownTokensError, ArithmeticError) as error:
        unknown = str(error) if isinstance(error, UnknownTokensError) else NOT_READ
        return MediaTokens(item.kind, item.label, 1, None, unknown=unknown)
    return MediaTokens(item.kind, item.label, 1, tokens, settings="config.json")


def _soft(key: str) -> Callable[[SettingsPart], int]:
    """Gemma 3's: two markers and two empty lines around."""
    return lambda config: config.count(key) + 4


def _squared(config: SettingsPart) -> int:
    return (config.inner("vision_config", "image_size") // _patch(config)) ** 2


def _patch(config: SettingsPart) -> int:
    return config.inner("vision_config", "patch_size")


def _voxtral(config: SettingsPart) -> int:
    stacked = config.inner("audio_config", "intermediate_size")
    return 1_500 // (stacked // config.inner("audio_config", "hidden_size")) + 1


#: Model type and kind of item -> its tokens by config.json, which the model itself compares with
#: what its processor wrote.
_DECLARED: Final[Mapping[tuple[str, str], Callable[[SettingsPart], int]]] = {
    ("gemma3", "image"): _soft("mm_tokens_per_image"),
    ("shieldgemma2", "image"): _soft("mm_tokens_per_image"),
    ("gemma3n", "image"): _soft("vision_soft_tokens_per_image"),
    ("gemma3n", "audio"): _soft("audio_soft_tokens_per_image"),
    ("blip-2", "image"): lambda config: config.count("num_query_tokens"),
    ("instructblip", "image"): lambda config: config.count("num_query_tokens"),
    ("paligemma", "image"): _squared,
    ("voxtral", "audio"): _voxtral,
}
