"""Sounds as frames of a spectrogram that convolutions and pooling shorten: Whisper's encoder and
what was built on it."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.media_tokens import MAX_SECONDS, AudioItem
from .pixel_budget import FramesShareBudget, PixelBudget
from .processor_settings import ProcessorSettings, SettingsPart
from .rule import ItemTokens, SoundsOnly, not_judged


def samples_of(audio: AudioItem, part: SettingsPart) -> int:
    return audio.milliseconds * part.count("sampling_rate") // 1000


def pooled(frames: int) -> int:
    """After a convolution of stride 2 and a pooling of 2 (Qwen2-Audio)."""
    return ((frames - 1) // 2 + 1 - 2) // 2 + 1


def window_frames(part: SettingsPart) -> int:
    """Spectrogram frames of a window: the class computes them, whatever ``nb_max_frames`` is."""
    seconds = part.count("chunk_length", most=MAX_SECONDS)
    return seconds * part.count("sampling_rate") // part.count("hop_length")


class Whisper(SoundsOnly):
    """Whisper: 30 seconds at a time, padded; the encoder's positions are in the cross-attention."""

    types: ClassVar[tuple[str, ...]] = ("whisper",)
    source: ClassVar = "models/whisper/feature_extraction_whisper.py"

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        frames = window_frames(settings.part("audio"))
        return ItemTokens(
            0,
            (
                f"padded to {frames:,} spectrogram frames, two in one",
                "a longer sound is heard piece by piece",
            ),
            cross=frames // 2,
        )


class Qwen2Audio(SoundsOnly):
    """Qwen2-Audio: what is longer than 30 seconds is cut off."""

    types: ClassVar[tuple[str, ...]] = ("qwen2_audio",)
    source: ClassVar = "models/qwen2_audio/processing_qwen2_audio.py"

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        return cut_off(audio, settings.part("audio"))


def cut_off(audio: AudioItem, part: SettingsPart) -> ItemTokens:
    most = window_frames(part)
    frames = min(math.ceil(samples_of(audio, part) / part.count("hop_length")), most)
    tokens = max(pooled(frames), 0)
    return ItemTokens(
        tokens, (f"{frames:,} spectrogram frames (at most {most:,}), four in one: {tokens:,}",)
    )


class Qwen25Omni(PixelBudget):
    """Qwen2.5-Omni: images and videos of Qwen2-VL, sounds of Qwen2-Audio."""

    types: ClassVar[tuple[str, ...]] = ("qwen2_5_omni", "qwen2_5_omni_thinker")
    source: ClassVar = "models/qwen2_5_omni/processing_qwen2_5_omni.py"

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        return cut_off(audio, settings.part("audio"))


class Qwen3Omni(PixelBudget):
    """Qwen3-Omni: 13 tokens a second of sound, of any length."""

    types: ClassVar[tuple[str, ...]] = ("qwen3_omni_moe", "qwen3_omni_moe_thinker")
    source: ClassVar = "models/qwen3_omni_moe/processing_qwen3_omni_moe.py"

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        return in_chunks(samples_of(audio, part) // part.count("hop_length"))


def in_chunks(frames: int, chunk: int = 100) -> ItemTokens:
    """Three convolutions of stride 2 over each chunk."""
    rest = frames % chunk
    tokens = frames // chunk * 13 + max((((rest - 1) // 2 + 1 - 1) // 2 + 1 - 1) // 2 + 1, 0)
    return ItemTokens(
        tokens,
        (f"{frames:,} spectrogram frames in chunks of {chunk}, 13 tokens each: {tokens:,}",),
    )


class Qwen3Asr(SoundsOnly):
    """Qwen3-ASR: the same; a shorter sound is padded to ``min_length`` samples."""

    types: ClassVar[tuple[str, ...]] = ("qwen3_asr",)
    source: ClassVar = "models/qwen3_asr/processing_qwen3_asr.py"

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        samples = max(samples_of(audio, part), part.optional("min_length", 0))
        return in_chunks(samples // part.count("hop_length"))


class SoundWindows(SoundsOnly):
    """Audio Flamingo 3: windows of 30 seconds, up to ``max_audio_len`` seconds."""

    types: ClassVar[tuple[str, ...]] = ("audioflamingo3",)
    source: ClassVar = "models/audioflamingo3/processing_audioflamingo3.py"
    longest: ClassVar = 600

    def frames(self, audio: AudioItem, settings: ProcessorSettings) -> int:
        part = settings.part("audio")
        samples, hop = samples_of(audio, part), part.count("hop_length")
        window = part.count("chunk_length") * part.count("sampling_rate")
        longest = settings.own.optional("max_audio_len", self.longest, least=1)
        most = longest // part.count("chunk_length")
        whole, rest = divmod(min(samples, most * window), window)
        return whole * (window // hop) + math.ceil(rest / hop)

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        frames = self.frames(audio, settings)
        tokens = max(pooled(frames), 0)
        return ItemTokens(
            tokens, (f"{frames:,} spectrogram frames in all windows, four in one: {tokens:,}",)
        )


class GlmAsr(SoundWindows):
    """GLM-ASR: convolved to a half, four in one."""

    types: ClassVar[tuple[str, ...]] = ("glmasr",)
    source: ClassVar = "models/glmasr/processing_glmasr.py"
    longest: ClassVar = 655

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        frames = self.frames(audio, settings)
        tokens = max(((frames - 1) // 2 + 1 - 4) // 4 + 1, 0)
        return ItemTokens(tokens, (f"{frames:,} spectrogram frames, eight in one: {tokens:,}",))


class GraniteSpeech(SoundsOnly):
    """Granite Speech: blocks of the projector's window, each shortened to the same length."""

    types: ClassVar[tuple[str, ...]] = ("granite_speech", "granite_speech_plus")
    source: ClassVar = "models/granite_speech/feature_extraction_granite_speech.py"

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        rate = part.optional("sampling_rate", 16_000, least=1)
        hop = part.inner("melspec_kwargs", "hop_length") if part.raw("melspec_kwargs") else 160
        window = part.optional("projector_window_size", 15, least=1)
        shorter = part.optional("projector_downsample_rate", 5, least=1)
        frames = (audio.milliseconds * rate // 1000 // hop + 1) // 2
        blocks = math.ceil(frames / window)
        each = window // shorter
        return ItemTokens(
            blocks * each,
            (f"{frames:,} encoder frames in {blocks:,} blocks of {window}, {each} tokens each",),
        )


class SeenAndHeard(FramesShareBudget):
    """dots.note: images and videos of Qwen3-VL; its sounds have no rule yet."""

    types: ClassVar[tuple[str, ...]] = ("dots3_note",)
    source: ClassVar = "models/dots3_note/processing_dots3_note.py"

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        not_judged("audio", settings)
