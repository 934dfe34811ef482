"""The LLaVA models: a square of patches, and in later ones an image cut into several squares of
which the padding is taken away."""

import math
from fractions import Fraction
from typing import ClassVar

from ..core.media_tokens import ImageItem, VideoItem
from .processor_settings import ProcessorSettings, SettingsPart, UnknownTokensError
from .resizing import best_resolution
from .rule import ImagesOnly, ItemTokens, NoSounds, counts, takes_no


def own_or_config(settings: ProcessorSettings, features: str = "default") -> tuple[int, int, str]:
    """Pixels of a patch, extra tokens (CLIP's class token), and which features are kept: of the
    processor, and of config.json where older repos do not say them to it."""
    root = settings.root
    vision = settings.section("vision_config")
    is_own = root.raw("patch_size") is not None
    patch = root.count("patch_size") if is_own else vision.count("patch_size")
    strategy = root.text("vision_feature_select_strategy") or settings.section().text(
        "vision_feature_select_strategy", features
    )
    if is_own:
        return patch, root.optional("num_additional_image_tokens", 0), strategy
    return patch, int("clip" in vision.text("model_type", "clip")), strategy


def side(part: SettingsPart) -> tuple[int, int]:
    """Height and width of what the vision encoder sees."""
    if part.flag("do_center_crop") and part.raw("crop_size") is not None:
        return part.inner("crop_size", "height"), part.inner("crop_size", "width")
    return (
        part.inner("size", "height", "shortest_edge"),
        part.inner("size", "width", "shortest_edge"),
    )


@counts("llava vipllava", "models/llava/processing_llava.py")
class Llava(ImagesOnly):
    """LLaVA 1.5: the patches of one square."""

    features: ClassVar = "default"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        high, wide = side(settings.part("image"))
        patch, extra, strategy = own_or_config(settings, self.features)
        columns = wide // patch
        rows = high // patch
        tokens = columns * rows + extra - (strategy == "default")
        text = f"{wide} x {high} pixels: {columns} x {rows} patches of {patch}"
        dropped = ", the class token left out" if strategy == "default" and extra else ""
        return ItemTokens(tokens, (f"{text}{dropped}",))


@counts("fast_vlm")
class FastVlm(Llava):
    """FastVLM: the same, whose vision encoder has no class token to leave out."""

    features: ClassVar = "full"


@counts("video_llava", "models/video_llava/processing_video_llava.py")
class VideoLlava(Llava):
    """Video-LLaVA: each frame of a video keeps its class token."""

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("video")
        high = part.inner("crop_size", "height")
        wide = part.inner("crop_size", "width")
        patch, extra, _ = own_or_config(settings)
        each = (high // patch) * (wide // patch) + extra
        return ItemTokens(
            each * video.frames, (f"{video.frames:,} frames of {each:,} tokens: patches and class",)
        )


@counts("llava_next llava_next_video granite4_vision", "models/llava_next/processing_llava_next.py")
class LlavaNext(ImagesOnly):
    """LLaVA-NeXT: the whole image, and the image at the best of the listed resolutions, without its
    padding, with a token at the end of each row."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        square = part.inner("size", "shortest_edge", "height")
        patch, extra, strategy = own_or_config(settings)
        across = int((square // patch) * _downsampled(settings))
        best = best_resolution(image.height, image.width, part.pairs("image_grid_pinpoints"))
        rows, columns = unpadded(image, across * (best[0] // square), across * (best[1] // square))
        overview = across * across + extra - (strategy == "default")
        tokens = overview + rows * columns + rows
        return ItemTokens(
            tokens,
            (
                f"the whole at {square} x {square}: {overview:,} tokens",
                f"at {best[1]} x {best[0]}: {columns} x {rows} without padding: {rows * columns:,}",
                f"{rows:,} ends of rows",
            ),
        )

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        if settings.model_type != "llava_next_video":
            takes_no("video", settings)
        high, wide = side(settings.part("video"))
        patch, _, _ = own_or_config(settings)
        each = (high // patch) * (wide // patch) // 4
        step = f"{video.frames:,} frames at {wide} x {high}, four patches in one: {each:,} tokens"
        return ItemTokens(video.frames * each, (step,))


def _downsampled(settings: ProcessorSettings) -> Fraction:
    """How much Granite 4 Vision shortens a row of patches (``downsample_rate``: "3/4")."""
    rate = settings.root.raw("downsample_rate")
    if rate is None:
        return Fraction(1)
    try:
        shorter = Fraction(rate) if isinstance(rate, str) and len(rate) < 20 else None
    except (ValueError, ZeroDivisionError):
        shorter = None
    if shorter is None or not 0 < shorter <= 1:
        raise UnknownTokensError("downsample_rate in processor_config.json is not a fraction")
    return shorter


def unpadded(image: ImageItem, rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns of patches that the image itself covers, both its borders taken away."""
    if image.width / image.height > columns / rows:
        high = int(round(image.height * (columns / image.width), 7))
        return rows - (rows - high) // 2 * 2, columns
    wide = int(round(image.width * (rows / image.height), 7))
    return rows, columns - (columns - wide) // 2 * 2


@counts("llava_onevision", "models/llava_onevision/processing_llava_onevision.py")
class LlavaOnevision(NoSounds):
    """LLaVA-OneVision: as LLaVA-NeXT, and what is more than ``anyres_max_9`` squares is shrunk;
    frames of a video are pooled by two. Several images in one prompt are not cut."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        overview, strategy = self._whole(settings)
        less = int(strategy == "default")
        if image.several:
            step = f"one of several images, {overview:,} tokens and the end of a row"
            return ItemTokens(overview + 1 - less, (step,))
        square = part.inner("size", "shortest_edge", "height")
        across = math.isqrt(overview)
        best = best_resolution(image.height, image.width, part.pairs("image_grid_pinpoints"))
        rows, columns = unpadded(image, across * (best[0] // square), across * (best[1] // square))
        most = self._most(settings)
        ratio = math.sqrt(rows * columns / (most * across**2))
        shrunk = ratio > 1.1
        if shrunk:
            rows = int(rows // ratio)
            columns = int(columns // ratio)
        end = f", shrunk to {most} squares" if shrunk else ""
        return ItemTokens(
            overview - less + rows * columns + rows,
            (
                f"the whole at {square} x {square}: {overview - less:,} tokens",
                (
                    f"at {best[1]} x {best[0]}: {columns} x {rows} without padding{end}: "
                    f"{rows * columns:,}"
                ),
                f"{rows:,} ends of rows",
            ),
        )

    @staticmethod
    def _whole(settings: ProcessorSettings) -> tuple[int, str]:
        root = settings.root
        vision = settings.section("vision_config")
        strategy = root.text("vision_feature_select_strategy") or settings.section().text(
            "vision_feature_select_strategy", "full"
        )
        if root.says("num_image_tokens"):
            return root.count("num_image_tokens"), strategy
        return (vision.count("image_size") // vision.count("patch_size")) ** 2, strategy

    @staticmethod
    def _most(settings: ProcessorSettings) -> int:
        text = settings.root.text("vision_aspect_ratio", "anyres_max_9").removeprefix("anyres_max_")
        if not text.isascii() or not text.isdigit() or not 0 < int(text[:6]) <= 4_096:
            raise UnknownTokensError("vision_aspect_ratio is not anyres_max_N")
        return int(text)

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        settings.part("video")
        tokens, _ = self._whole(settings)
        pooled = -(-math.isqrt(tokens) // 2)
        return ItemTokens(
            video.frames * pooled * pooled + 1,
            (f"{video.frames:,} frames of {pooled} x {pooled} tokens, and the end of a row",),
        )
