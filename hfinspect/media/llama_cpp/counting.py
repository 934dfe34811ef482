"""Tokens of one item in a GGUF model, by the mmproj file next to it."""

from collections.abc import Mapping, Set
from typing import Final

from ...core.media_tokens import USUAL, AudioItem, ImageItem, MediaItem, MediaTokens
from ..processor_settings import UnknownTokensError
from ..rule import ItemTokens
from .projected_sounds import SOUNDS, sound_tokens
from .projector_keys import ProjectorKeys
from .projectors import PROJECTORS, image_tokens

#: Types that llama.cpp knows and that have no rule here, and why.
REFUSED: Final[Mapping[str, str]] = {
    "deepseek4v": "its tokens depend on where in the prompt the image stands",
    "gemma3na": "llama.cpp has no encoder of its sounds",
    "parakeet": "its rule is not compared with llama.cpp yet",
    **dict.fromkeys(
        ("qwen3tts_spkenc", "qwen3tts_gen", "pockettts_spkenc", "pockettts_gen"),
        "it makes speech: its sounds are no input of a prompt",
    ),
}

#: All types with a rule; three count in one picture.
COUNTED: Final = (
    frozenset(PROJECTORS)
    | frozenset(SOUNDS)
    | {"deepseekocr", "deepseekocr2", "granite4_vision", "qwen2.5o"}
)


def count_by_llama_cpp(
    item: MediaItem,
    name: str,
    metadata: Mapping[str, object],
    tensors: Set[str],
    count: int = 1,
) -> MediaTokens:
    """``name``: the mmproj file, ``metadata`` its keys, ``tensors`` the names of its tensors. Never
    raises: what is not known is said in ``unknown``."""
    try:
        counted = _counted(item, metadata, tensors)
    except UnknownTokensError as error:
        return MediaTokens(item.kind, item.label, count, None, unknown=str(error))
    except (ArithmeticError, ValueError):  # a patch larger than its square, and the like
        reason = f"the keys of {name} leave no patches of {item.label}"
        return MediaTokens(item.kind, item.label, count, None, unknown=reason)
    return MediaTokens(
        item.kind,
        item.label,
        count,
        counted.tokens,
        derivation=counted.steps,
        settings=f"{name}, as llama.cpp counts",
    )


def usual_by_llama_cpp(
    name: str, metadata: Mapping[str, object], tensors: Set[str]
) -> tuple[MediaTokens, ...]:
    """Of an image of 1,024 pixels and a sound of 30 seconds, by the encoders that the file has."""
    senses = {"image": "vision", "audio": "audio"}
    return tuple(
        count_by_llama_cpp(item, name, metadata, tensors)
        for item in USUAL
        if metadata.get(f"clip.has_{senses[item.kind]}_encoder") is True
    )


def _counted(item: MediaItem, metadata: Mapping[str, object], tensors: Set[str]) -> ItemTokens:
    if not isinstance(item, ImageItem | AudioItem):
        raise UnknownTokensError("no rule yet for videos in llama.cpp")
    sense = "vision" if isinstance(item, ImageItem) else "audio"
    if metadata.get(f"clip.has_{sense}_encoder") is not True:
        raise UnknownTokensError(f"the mmproj file has no {sense} encoder")
    keys = ProjectorKeys(sense, metadata, tensors)
    if keys.projector in REFUSED:
        raise UnknownTokensError(f"{keys.projector}: {REFUSED[keys.projector]}")
    if isinstance(item, ImageItem):
        return image_tokens(item, keys)
    return sound_tokens(item, keys)
