"""Sounds as frames of a spectrogram that convolutions and pooling shorten: Whisper's encoder and
what was built on it."""

import math
from typing import ClassVar

from ..core.media_tokens import MAX_SECONDS, AudioItem
from .pixel_budget import PixelBudget
from .processor_settings import ProcessorSettings, SettingsPart, UnknownTokensError
from .rule import ItemTokens, SoundsOnly, counts, marked


def samples_of(audio: AudioItem, part: SettingsPart) -> int:
    return audio.milliseconds * part.count("sampling_rate") // 1000


def pooled(frames: int) -> int:
    """After a convolution of stride 2 and a pooling of 2 (Qwen2-Audio)."""
    return ((frames - 1) // 2 + 1 - 2) // 2 + 1


def window_frames(part: SettingsPart) -> int:
    """Spectrogram frames of a window: the class computes them, whatever ``nb_max_frames`` is."""
    seconds = part.count("chunk_length", most=MAX_SECONDS)
    return seconds * part.count("sampling_rate") // part.count("hop_length")


@counts("whisper", "models/whisper/feature_extraction_whisper.py")
class Whisper(SoundsOnly):
    """Whisper: 30 seconds at a time, padded; the encoder's positions are in the cross-attention."""

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


@counts("qwen2_audio", "models/qwen2_audio/processing_qwen2_audio.py")
class Qwen2Audio(SoundsOnly):
    """Qwen2-Audio: what is longer than 30 seconds is cut off."""

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        return cut_off(audio, settings.part("audio"))


def cut_off(audio: AudioItem, part: SettingsPart) -> ItemTokens:
    most = window_frames(part)
    frames = min(math.ceil(samples_of(audio, part) / part.count("hop_length")), most)
    tokens = max(pooled(frames), 0)
    return ItemTokens(
        tokens, (f"{frames:,} spectrogram frames (at most {most:,}), four in one: {tokens:,}",)
    )


@counts("qwen2_5_omni qwen2_5_omni_thinker", "models/qwen2_5_omni/processing_qwen2_5_omni.py")
class Qwen25Omni(PixelBudget):
    """Qwen2.5-Omni: images and videos of Qwen2-VL, sounds of Qwen2-Audio."""

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        return cut_off(audio, settings.part("audio"))


@counts(
    "qwen3_omni_moe qwen3_omni_moe_thinker",
    "models/qwen3_omni_moe/processing_qwen3_omni_moe.py",
)
class Qwen3Omni(PixelBudget):
    """Qwen3-Omni: 13 tokens a second of sound, of any length."""

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


@counts("qwen3_asr", "models/qwen3_asr/processing_qwen3_asr.py")
class Qwen3Asr(SoundsOnly):
    """Qwen3-ASR: the same; a shorter sound is padded to ``min_length`` samples."""

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        samples = max(samples_of(audio, part), part.optional("min_length", 0))
        return in_chunks(samples // part.count("hop_length"))


@counts("audioflamingo3", "models/audioflamingo3/processing_audioflamingo3.py")
class SoundWindows(SoundsOnly):
    """Audio Flamingo 3: windows of 30 seconds, up to ``max_audio_len`` seconds."""

    longest: ClassVar = 600
    markers: ClassVar = 0

    def frames(self, audio: AudioItem, settings: ProcessorSettings) -> int:
        part = settings.part("audio")
        samples = samples_of(audio, part)
        hop = part.count("hop_length")
        window = part.count("chunk_length") * part.count("sampling_rate")
        longest = settings.root.optional("max_audio_len", self.longest, least=1)
        most = longest // part.count("chunk_length")
        windows, rest = divmod(min(samples, most * window), window)
        return windows * (window // hop) + math.ceil(rest / hop)

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        frames = self.frames(audio, settings)
        tokens = max(pooled(frames), 0)
        around = marked(self.markers)
        return ItemTokens(
            tokens + self.markers,
            (f"{frames:,} spectrogram frames in all windows, four in one: {tokens:,}{around}",),
        )


@counts("musicflamingo", "models/musicflamingo/processing_musicflamingo.py")
class MusicFlamingo(SoundWindows):
    """Music Flamingo: the same up to 1,200 seconds, between two markers."""

    longest: ClassVar = 1_200
    markers: ClassVar = 2


@counts("glmasr", "models/glmasr/processing_glmasr.py")
class GlmAsr(SoundWindows):
    """GLM-ASR: convolved to a half, four in one."""

    longest: ClassVar = 655

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        frames = self.frames(audio, settings)
        tokens = max(((frames - 1) // 2 + 1 - 4) // 4 + 1, 0)
        return ItemTokens(tokens, (f"{frames:,} spectrogram frames, eight in one: {tokens:,}",))


@counts(
    "granite_speech granite_speech_plus",
    "models/granite_speech/feature_extraction_granite_speech.py",
)
class GraniteSpeech(SoundsOnly):
    """Granite Speech: blocks of the projector's window, each shortened to the same length."""

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


@counts(
    "moss_transcribe_diarize",
    "models/moss_transcribe_diarize/processing_moss_transcribe_diarize.py",
)
class MossTranscribe(SoundsOnly):
    """MOSS-Transcribe-Diarize: windows of 30 seconds, each rounded up; the seconds that it writes
    between as text are not counted."""

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        samples = samples_of(audio, part)
        hop = part.count("hop_length")
        merge = settings.root.count("audio_merge_size")
        window = part.count("chunk_length", most=MAX_SECONDS) * part.count("sampling_rate")
        windows, rest = divmod(samples, window)
        tokens = windows * merged_frames(window // hop, merge)
        tokens += merged_frames(min(math.ceil(rest / hop), window // hop), merge)
        every = settings.root.optional("time_marker_every_seconds", 0)
        words = (f"without the seconds that stand in it every {every} s as text",) if every else ()
        return ItemTokens(
            tokens, (f"{samples:,} samples in windows of {window:,}: {tokens:,} tokens", *words)
        )


def merged_frames(frames: int, merge: int) -> int:
    """Two frames in one, ``merge`` of these in a token."""
    return -(-((frames - 1) // 2 + 1) // merge) if frames else 0


@counts("fun_asr_nano", "models/fun_asr_nano/feature_extraction_fun_asr_nano.py")
class FunAsrNano(SoundsOnly):
    """Fun-ASR-Nano: Kaldi's frames, of which every sixth begins a token."""

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        samples = samples_of(audio, part)
        rate = part.count("sampling_rate")
        window = rate * part.count("frame_length") // 1000
        shift = rate * part.count("frame_shift") // 1000
        if samples < window:
            raise UnknownTokensError(f"{audio.label} is shorter than a frame of its spectrogram")
        frames = 1 + (samples - window) // shift
        every = part.count("stride_lfr")
        tokens = -(-frames // every)
        return ItemTokens(tokens, (f"{frames:,} spectrogram frames, {every} a token: {tokens:,}",))


@counts("nemo_speechlm", "models/nemotron3_5_transcribe/processing_nemotron3_5_transcribe.py")
class NemotronTranscribe(SoundsOnly):
    """Nemotron 3.5 Transcribe: whole spectrogram frames, eight a token."""

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        frames = samples_of(audio, part) // part.count("hop_length")
        each = settings.root.optional("subsampling_factor", 8, least=1)
        tokens = -(-frames // each)
        return ItemTokens(tokens, (f"{frames:,} spectrogram frames, {each} a token: {tokens:,}",))


@counts("voxtral", "models/voxtral/modeling_voxtral.py")
class Voxtral(SoundsOnly):
    """Voxtral: padded to whole windows of 30 seconds, each as many tokens as its encoder's frames
    stacked to the projector's width, after one marker (mistral-common writes them)."""

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        encoder = settings.section("audio_config")
        seconds = part.count("chunk_length", most=MAX_SECONDS)
        windows = -(-samples_of(audio, part) // (seconds * part.count("sampling_rate")))
        stacked = encoder.optional("intermediate_size", 5120) // encoder.optional(
            "hidden_size", 1280, least=1
        )
        each = window_frames(part) // 2 // stacked
        return ItemTokens(
            windows * each + 1,
            (f"padded to {windows:,} x {seconds} s of {each:,} tokens, 1 marker",),
        )
