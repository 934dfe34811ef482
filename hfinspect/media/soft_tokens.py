"""Gemma 4: the image keeps its shape and fills a budget of pooled tokens; sounds by length."""

import math

from ..core.media_tokens import AudioItem, ImageItem, VideoItem
from .processor_settings import ProcessorSettings, SettingsPart, UnknownTokensError
from .rule import ItemTokens, TokenRule, counts


@counts(
    "gemma4 gemma4_unified diffusion_gemma embedding_gemma2",
    "models/gemma4/processing_gemma4.py",
)
class Gemma4(TokenRule):
    """Gemma 4: tokens between two markers; of a video each frame, whose time stands before it as
    text that is not counted."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        tokens, step = _pooled(image.height, image.width, settings.part("image"))
        return ItemTokens(tokens + 2, (step, "2 markers"))

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        tokens, step = _pooled(video.height, video.width, settings.part("video"))
        return ItemTokens(
            video.frames * (tokens + 2),
            (
                step,
                f"{video.frames:,} frames of {tokens:,} tokens and 2 markers",
                "without the time that stands before each frame as text",
            ),
        )

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        samples = audio.milliseconds * part.count("sampling_rate") // 1000
        most = settings.root.optional("audio_seq_length", 750, least=1)
        if part.raw("audio_samples_per_token") is not None:
            each = part.count("audio_samples_per_token")
            tokens = -(-samples // each)
            return ItemTokens(tokens + 2, (f"{each:,} samples a token, 2 markers",))
        frame = part.count("frame_length")
        hop = part.count("hop_length")
        frames = max((samples + frame // 2 - (frame + 1)) // hop + 1, 0)
        tokens = frames
        for _ in range(2):  # two convolutions of stride 2
            tokens = (tokens - 1) // 2 + 1 if tokens else 0
        tokens = min(tokens, most)
        return ItemTokens(
            tokens + 2,
            (f"{frames:,} spectrogram frames, four in one, at most {most:,}", "2 markers"),
        )


def _pooled(height: int, width: int, part: SettingsPart) -> tuple[int, str]:
    """Tokens of the largest size of this shape within the budget."""
    patch = part.count("patch_size")
    pool = part.count("pooling_kernel_size")
    most = part.count("max_soft_tokens")
    target = most * pool**2 * patch**2
    factor = math.sqrt(target / (height * width))
    side = pool * patch
    high = math.floor(factor * height / side) * side
    wide = math.floor(factor * width / side) * side
    if not high and not wide:
        raise UnknownTokensError("the processor would resize the image to nothing")
    longest = most * side
    if not high:
        high = side
        wide = min(width // height * side, longest)
    elif not wide:
        high = min(height // width * side, longest)
        wide = side
    tokens = (high // patch) * (wide // patch) // pool**2
    return tokens, (
        f"resized to {wide:,} x {high:,}: {wide // side} x {high // side} tokens of "
        f"{pool} x {pool} patches of {patch} pixels"
    )
