"""How each type of projector counts a sound (``mtmd-audio.cpp``): llama.cpp's own windows, which
are often padded where the library's are not."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ...core.media_tokens import AudioItem
from ..processor_settings import UnknownTokensError
from ..rule import ItemTokens, marked
from .projector_keys import ProjectorKeys

#: Samples a second, and of a step of the spectrogram; MiMo-Audio has its own.
RATE: Final = 16_000
HOP: Final = 160


class HeardSound(NamedTuple):
    samples: int
    keys: ProjectorKeys


CountSound = Callable[[HeardSound], int]


def _whisper(tokens: Callable[[ProjectorKeys], int]) -> CountSound:
    """Whole windows of 30 seconds of the sound and 30 seconds of silence after it."""

    def count(sound: HeardSound) -> int:
        frames = (max(sound.samples, 201) + 30 * RATE) // HOP + 1
        return frames // 3_000 * tokens(sound.keys)

    return count


def _stack(keys: ProjectorKeys) -> int:
    return keys.count("projector.stack_factor")


def _chunks(sound: HeardSound) -> int:
    """Windows of 800 frames, each in whole chunks of 100 frames and 13 tokens."""
    frames = sound.samples // HOP + 1
    windows, rest = divmod(frames, 800)
    return (windows * 8 + -(-rest // 100)) * 13


def _pieces(sound: HeardSound) -> int:
    windows, rest = divmod(sound.samples, 60 * RATE)
    tokens = windows * -(-(60 * RATE // HOP) // 8) + (rest // HOP + 7) // 8
    if not tokens:
        raise UnknownTokensError("the sound is shorter than a step of its spectrogram")
    return tokens


def _conformer(sound: HeardSound) -> int:
    if sound.samples // HOP < 2:
        raise UnknownTokensError("the sound is shorter than two steps of its spectrogram")
    frames = sound.samples // HOP + 1
    return (((frames + 1) // 2 + 1) // 2 + 1) // 2


def _granite(sound: HeardSound) -> int:
    window = sound.keys.count("projector.window_size")
    frames = (sound.samples // HOP + 1) // 2
    return -(-frames // window) * (window // sound.keys.count("projector.downsample_rate"))


def _gemma(sound: HeardSound) -> int:
    """Pieces of 30 seconds, two halvings."""
    windows, rest = divmod(sound.samples, 30 * RATE)
    return windows * _halved(30 * RATE) + (_halved(rest) if rest else 0)


def _halved(samples: int) -> int:
    frames = int((samples - 161) / HOP) + 1
    for _ in range(2):
        frames = int((frames - 1) / 2) + 1
    return frames


def _raw(sound: HeardSound) -> int:
    return -(-sound.samples // 640)


def _mimo(sound: HeardSound) -> int:
    frames = sound.samples // 240 + 1
    frames = (frames - 1) // 2 + 1
    frames = int((frames - 2) / 2) + 1
    return -(-frames // sound.keys.count("local_group_size"))


#: Projector type -> tokens of so many samples, and markers around them.
SOUNDS: Final[Mapping[str, tuple[CountSound, int]]] = {
    "qwen2a": (_whisper(lambda _: 750), 2),
    "voxtral": (_whisper(lambda keys: -(-3_000 // _stack(keys)) // 4), 1),
    "ultravox": (_whisper(lambda keys: -(-3_000 // _stack(keys)) // 2), 0),
    "meralion": (_whisper(lambda keys: -(-3_000 // _stack(keys)) // 2), 0),
    "musicflamingo": (_whisper(lambda _: 750), 1),
    "glma": (_whisper(lambda keys: 1_500 // _stack(keys) + 2), 0),
    "qwen3a": (_chunks, 2),
    "dots3note_a": (_pieces, 2),
    "lfm2a": (_conformer, 0),
    "granite_speech": (_granite, 0),
    "gemma4a": (_gemma, 2),
    "gemma4ua": (_raw, 2),
    "mimo_audio": (_mimo, 2),
}


def sound_tokens(audio: AudioItem, keys: ProjectorKeys) -> ItemTokens:
    """Raises UnknownTokensError."""
    kind = keys.projector
    if kind not in SOUNDS:
        raise UnknownTokensError(f"no rule yet for the projector {kind!r} of the mmproj file")
    count, markers = SOUNDS[kind]
    samples = audio.milliseconds * (24_000 if kind == "mimo_audio" else RATE) // 1000
    if not samples:
        raise UnknownTokensError("the sound is shorter than a sample")
    tokens = count(HeardSound(samples, keys))
    step = f"{samples:,} samples: {tokens:,} tokens{marked(markers)}"
    return ItemTokens(tokens + markers, (step,))
