"""Images cut into square tiles whose grid is as oblong as the image, with the whole as one more."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.media_tokens import AudioItem, ImageItem, VideoItem
from .processor_settings import ProcessorSettings, SettingsPart
from .resizing import closest_ratio, grids
from .rule import ImagesOnly, ItemTokens, TokenRule, takes_no


def tiles_of(image: ImageItem, part: SettingsPart) -> tuple[int, str]:
    """Tiles of GOT-OCR 2's image processor, and the step. A grid of one tile has no thumbnail."""
    most = part.count("max_patches")
    if most <= 1 or not part.flag("crop_to_patches"):
        return 1, "1 tile"
    tile = part.inner("size", "height")
    grid = closest_ratio(image.height, image.width, tile, grids(part.count("min_patches"), most))
    return with_thumbnail(*grid)


def with_thumbnail(columns: int, rows: int) -> tuple[int, str]:
    count = columns * rows
    if count == 1:
        return 1, "1 tile"
    return count + 1, f"{columns} x {rows} tiles and the whole: {count + 1}"


class InternVL(TokenRule):
    """InternVL: the processor cuts always, whatever the file's ``crop_to_patches``; a frame
    of a video is one tile on a line, with its number as text that is not counted."""

    types: ClassVar[tuple[str, ...]] = ("internvl",)
    source: ClassVar = "models/internvl/processing_internvl.py"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        each = settings.own.optional("image_seq_length", 256, least=1)
        tiles, step = tiles_of(image, settings.part("image"))
        return ItemTokens(2 + each * tiles, (step, f"{each:,} tokens a tile, 2 markers"))

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        settings.part("video")
        each = settings.own.optional("image_seq_length", 256, least=1) + 2
        return ItemTokens(
            each * video.frames + video.frames - 1,
            (
                f"{video.frames:,} frames of {each:,} tokens, 2 of them markers",
                f"{video.frames - 1:,} ends of lines between them",
                "without the number that stands before each frame as text",
            ),
        )

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("audio", settings)


class Qianfan(ImagesOnly):
    """Qianfan-OCR: as InternVL, without videos."""

    types: ClassVar[tuple[str, ...]] = ("qianfan_ocr",)
    source: ClassVar = "models/qianfan_ocr/processing_qianfan_ocr.py"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        return InternVL().image(image, settings)


class GotOcr2(ImagesOnly):
    """GOT-OCR 2: 256 tokens; the processor cuts only where its caller wants it."""

    types: ClassVar[tuple[str, ...]] = ("got_ocr2",)
    source: ClassVar = "models/got_ocr2/processing_got_ocr2.py"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        tiles, step = tiles_of(image, settings.part("image"))
        return ItemTokens(256 * tiles, (step, "256 tokens a tile"))


class AyaVision(ImagesOnly):
    """Aya Vision: a token before each tile, and two markers; cut always."""

    types: ClassVar[tuple[str, ...]] = ("aya_vision",)
    source: ClassVar = "models/aya_vision/processing_aya_vision.py"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        own = settings.own
        merged = own.optional("patch_size", 28, least=1) * own.optional("downsample_factor", 1)
        across = own.optional("img_size", 364, least=1) // max(merged, 1)
        tiles, step = tiles_of(image, settings.part("image"))
        tokens = across * across
        return ItemTokens(
            tiles * (tokens + 1) + 2,
            (step, f"{across} x {across} tokens a tile and one before it, 2 markers"),
        )


class Cohere2Vision(ImagesOnly):
    """Command A Vision: the grid that enlarges the image least; a token ends each tile."""

    types: ClassVar[tuple[str, ...]] = ("cohere2_vision",)
    source: ClassVar = "models/cohere2_vision/processing_cohere2_vision.py"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        tiles, step = 1, "1 tile"
        most = part.count("max_patches")
        if part.flag("crop_to_patches") and most > 1:
            tile = part.inner("size", "height")
            tiles, step = with_thumbnail(*_least_enlarged(image, tile, grids(1, most)))
        across = part.optional("patch_size", 16, least=1)
        tokens = across * across
        return ItemTokens(
            2 + tiles * (tokens + 1),
            (step, f"{across} x {across} tokens a tile and one after it, 2 markers"),
        )


def _least_enlarged(
    image: ImageItem, tile: int, known: tuple[tuple[int, int], ...]
) -> tuple[int, int]:
    """The first grid that holds the image with the least enlargement; where all are too small, the
    one that shrinks it least."""
    scales = [
        min(columns * tile / image.width, rows * tile / image.height) for columns, rows in known
    ]
    large = [scale for scale in scales if scale >= 1]
    return known[scales.index(min(large) if large else max(scales))]


class DeepseekOcr2(ImagesOnly):
    """DeepSeek-OCR 2: the whole on a page of its own, tiles only of an image larger than one, and
    one separator."""

    types: ClassVar[tuple[str, ...]] = ("deepseek_ocr2",)
    source: ClassVar = "models/deepseek_ocr2/processing_deepseek_ocr2.py"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part, own = settings.part("image"), settings.own
        patch = own.optional("patch_size", 16, least=1)
        ratio = own.optional("downsample_ratio", 4, least=1)
        tile = part.count("tile_size")
        whole = math.ceil(part.inner("size", "height") / patch / ratio) ** 2
        local = math.ceil(tile / patch / ratio) ** 2
        tiles = 0
        if part.flag("crop_to_patches") and max(image.height, image.width) > tile:
            known = grids(part.count("min_patches"), part.count("max_patches"))
            columns, rows = closest_ratio(image.height, image.width, tile, known)
            tiles = columns * rows
        return ItemTokens(
            whole + local * tiles + 1,
            (f"the whole: {whole:,} tokens", f"{tiles} tiles of {local:,}, 1 separator"),
        )
