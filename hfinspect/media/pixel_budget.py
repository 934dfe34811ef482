"""Images between a least and a largest number of pixels, cut into patches that are merged: the
Qwen-VL models and those that took over their processor."""

from __future__ import annotations

from typing import ClassVar

from ..core.media_tokens import AudioItem, ImageItem, VideoItem
from .processor_settings import ProcessorSettings, SettingsPart
from .resizing import frames_within_budget, within_budget
from .rule import ItemTokens, TokenRule, takes_no


def budget(part: SettingsPart) -> tuple[int, int]:
    """Least and most pixels: ``size``, over which ``min_pixels`` and ``max_pixels`` of older files
    win (``Qwen2VLImageProcessor.__init__``)."""
    least = part.count("min_pixels") if part.says("min_pixels") else 0
    most = part.count("max_pixels") if part.says("max_pixels") else 0
    return (
        least or part.inner("size", "shortest_edge"),
        most or part.inner("size", "longest_edge"),
    )


def grid_steps(
    high: int, wide: int, patch: int, merge: int, shown: str = ""
) -> tuple[int, tuple[str, ...]]:
    """Tokens of a picture of so many pixels, and the steps."""
    rows, columns = high // patch, wide // patch
    tokens = rows * columns // merge**2
    merged = f", {merge} x {merge} merged into one: {tokens:,} tokens" if merge > 1 else ""
    return tokens, (
        f"resized to {wide:,} x {high:,}{shown}",
        f"{columns:,} x {rows:,} patches of {patch} pixels{merged}",
    )


class PixelBudget(TokenRule):
    """Qwen2-VL: each frame has the budget of an image of its own; two frames are a patch."""

    types: ClassVar[tuple[str, ...]] = (
        "qwen2_vl",
        "qwen2_5_vl",
        "exaone4_5",
        "hyperclovax_vision_v2",
        "ernie4_5_vl_moe",
        "colqwen2",
    )
    source: ClassVar = "models/qwen2_vl/image_processing_qwen2_vl.py"
    enlarged: ClassVar = False

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        patch, merge = part.count("patch_size"), part.count("merge_size")
        high, wide = within_budget(
            image.height, image.width, patch * merge, *budget(part), enlarged=self.enlarged
        )
        return ItemTokens(*grid_steps(high, wide, patch, merge))

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        if settings.model_type == "colqwen2":
            takes_no("video", settings)
        part = settings.part("video")
        patch, merge = part.count("patch_size"), part.count("merge_size")
        high, wide = self.frame_size(video, part, patch * merge)
        return of_frames(video, part, high, wide)

    def frame_size(self, video: VideoItem, part: SettingsPart, factor: int) -> tuple[int, int]:
        return within_budget(video.height, video.width, factor, *budget(part))

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("audio", settings)


def of_frames(video: VideoItem, part: SettingsPart, high: int, wide: int) -> ItemTokens:
    """Tokens of all frames, ``temporal_patch_size`` of them in one."""
    patch, merge = part.count("patch_size"), part.count("merge_size")
    step = part.count("temporal_patch_size")
    times = -(-video.frames // step)
    each, steps = grid_steps(high, wide, patch, merge)
    tokens = times * (high // patch) * (wide // patch) // merge**2
    pairs = f"{video.frames:,} frames, {step} at a time: {times:,} x {each:,} = {tokens:,} tokens"
    return ItemTokens(tokens, (*steps, pairs))


class FramesShareBudget(PixelBudget):
    """Qwen3-VL: the budget of a video counts the pixels of all frames together."""

    types: ClassVar[tuple[str, ...]] = (
        "qwen3_vl",
        "qwen3_vl_moe",
        "qwen3_5",
        "qwen3_5_moe",
        "qwen4_exp",
        "cohere_compass",
        "lfm3_vl",
    )
    source: ClassVar = "models/qwen3_vl/video_processing_qwen3_vl.py"

    def frame_size(self, video: VideoItem, part: SettingsPart, factor: int) -> tuple[int, int]:
        least = part.inner("size", "shortest_edge")
        most = part.inner("size", "longest_edge")
        if part.flag("cap_pixels_per_frame"):
            most_a_frame = part.count("max_video_tokens") * factor * factor
            most = video.frames * max(min(most_a_frame, most // video.frames), int(least * 1.05))
        step = part.count("temporal_patch_size")
        return frames_within_budget(
            video.frames, video.height, video.width, step, factor, least, most
        )


class Enlarged(PixelBudget):
    """PaddleOCR-VL: an image smaller than a merged patch is enlarged first; no videos."""

    types: ClassVar[tuple[str, ...]] = ("paddleocr_vl",)
    source: ClassVar = "models/paddleocr_vl/image_processing_paddleocr_vl.py"
    enlarged: ClassVar = True

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("video", settings)


class FramesDivideBudget(PixelBudget):
    """VideoLLaMA 3: the pixels of a video are divided among its frames."""

    types: ClassVar[tuple[str, ...]] = ("video_llama_3",)
    source: ClassVar = "models/video_llama_3/video_processing_video_llama_3.py"

    def frame_size(self, video: VideoItem, part: SettingsPart, factor: int) -> tuple[int, int]:
        least, most = budget(part)
        return within_budget(video.height, video.width, factor, least, most // video.frames or 1)


class NamedBudget(PixelBudget):
    """MiniMax-M3-VL: videos have ``min_pixels`` and ``max_pixels`` of their own."""

    types: ClassVar[tuple[str, ...]] = ("minimax_m3_vl",)
    source: ClassVar = "models/minimax_m3_vl/video_processing_minimax_m3_vl.py"

    def frame_size(self, video: VideoItem, part: SettingsPart, factor: int) -> tuple[int, int]:
        least, most = part.count("min_pixels"), part.count("max_pixels")
        return within_budget(video.height, video.width, factor, least, most)


class ImageAsFrames(TokenRule):
    """GLM-4V: an image is a video of as many frames as a patch has."""

    types: ClassVar[tuple[str, ...]] = ("glm4v", "glm4v_moe", "glm46v", "glm_ocr", "cosmos3_edge")
    source: ClassVar = "models/glm4v/image_processing_glm4v.py"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        patch, merge = part.count("patch_size"), part.count("merge_size")
        step = part.count("temporal_patch_size")
        least, most = part.inner("size", "shortest_edge"), part.inner("size", "longest_edge")
        high, wide = frames_within_budget(
            step, image.height, image.width, step, patch * merge, least, most
        )
        return ItemTokens(*grid_steps(high, wide, patch, merge))

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("video")
        factor = part.count("patch_size") * part.count("merge_size")
        step = part.count("temporal_patch_size")
        least, most = part.inner("size", "shortest_edge"), part.inner("size", "longest_edge")
        high, wide = frames_within_budget(
            video.frames, video.height, video.width, step, factor, least, most
        )
        return of_frames(video, part, high, wide)

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("audio", settings)
