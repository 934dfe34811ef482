"""Sounds whose tokens are a number of samples each: codecs and raw waveforms, and the processors of
several senses that hear so."""

from typing import ClassVar

from ..core.media_tokens import AudioItem
from .pixel_budget import FramesShareBudget
from .processor_settings import ProcessorSettings, SettingsPart, UnknownTokensError
from .rule import ItemTokens, SoundsOnly, counts, marked
from .sound_frames import samples_of

#: More than any encoder has.
MAX_CONVOLUTIONS = 32


def by_samples(samples: int, each: int, markers: int = 0) -> ItemTokens:
    """The last token may be incomplete."""
    tokens = -(-samples // each)
    step = f"{samples:,} samples, {each:,} a token: {tokens:,}{marked(markers)}"
    return ItemTokens(tokens + markers, (step,))


@counts("vibevoice vibevoice_asr", "models/vibevoice/processing_vibevoice.py")
class VibeVoice(SoundsOnly):
    """VibeVoice: 3,200 samples of 24 kHz a token; the model's own reading of it writes as many."""

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        return by_samples(samples_of(audio, part), part.count("pad_to_multiple_of"))


@counts("omniasr", "models/omniasr/processing_omniasr.py")
class OmniAsr(SoundsOnly):
    """Omnilingual ASR: what wav2vec's convolutions leave of the samples."""

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        samples = length = samples_of(audio, part)
        kernels = convolutions(settings.root, "conv_kernel", (10, 3, 3, 3, 3, 2, 2))
        strides = convolutions(settings.root, "conv_stride", (5, 2, 2, 2, 2, 2, 2))
        for kernel, stride in zip(kernels, strides, strict=False):
            length = (length - kernel) // stride + 1
        tokens = max(length, 0)
        return ItemTokens(
            tokens, (f"{samples:,} samples through {len(kernels)} convolutions: {tokens:,}",)
        )


def convolutions(root: SettingsPart, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
    numbers = root.raw(key)
    if numbers is None:
        return default
    good = isinstance(numbers, list) and len(numbers) <= MAX_CONVOLUTIONS
    if not good or any(type(one) is not int or not 0 < one < 2**20 for one in numbers):
        raise UnknownTokensError(f"{key} in {root.where} is not a list of whole numbers")
    return tuple(numbers)


@counts("dots3_note", "models/dots3_note/processing_dots3_note.py")
class SeenAndHeard(FramesShareBudget):
    """dots.note: images and videos of Qwen3-VL; sounds in pieces of 60 seconds."""

    markers: ClassVar = 0

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        samples = samples_of(audio, part)
        each = part.count("hop_length") * 8
        seconds = part.count("chunk_seconds" if part.says("chunk_seconds") else "chunk_length")
        piece = seconds * part.count("sampling_rate")
        windows, rest = divmod(samples, piece)
        tokens = windows * -(-piece // each) + -(-rest // each)
        return ItemTokens(
            tokens, (f"{samples:,} samples in pieces of {seconds} s, {each:,} a token: {tokens:,}",)
        )
