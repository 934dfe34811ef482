"""Images cut into square tiles whose grid is as oblong as the image, with the whole as one more."""

import math
from typing import ClassVar

from ..core.media_tokens import ImageItem, VideoItem
from .canvases import canvas
from .processor_settings import ProcessorSettings, SettingsPart
from .resizing import closest_ratio, grids, grids_of_a_set, within_budget
from .rule import ImagesOnly, ItemTokens, NoSounds, counts


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


@counts("internvl", "models/internvl/processing_internvl.py")
class InternVL(NoSounds):
    """InternVL: the processor cuts always, whatever the file's ``crop_to_patches``; a frame
    of a video is one tile on a line, with its number as text that is not counted."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        each = settings.root.optional("image_seq_length", 256, least=1)
        tiles, step = tiles_of(image, settings.part("image"))
        return ItemTokens(2 + each * tiles, (step, f"{each:,} tokens a tile, 2 markers"))

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        settings.part("video")
        each = settings.root.optional("image_seq_length", 256, least=1) + 2
        return ItemTokens(
            each * video.frames + video.frames - 1,
            (
                f"{video.frames:,} frames of {each:,} tokens, 2 of them markers",
                f"{video.frames - 1:,} ends of lines between them",
                "without the number that stands before each frame as text",
            ),
        )


@counts("qianfan_ocr", "models/qianfan_ocr/processing_qianfan_ocr.py")
class Qianfan(ImagesOnly):
    """Qianfan-OCR: as InternVL, without videos."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        return InternVL().image(image, settings)


@counts("got_ocr2", "models/got_ocr2/processing_got_ocr2.py")
class GotOcr2(ImagesOnly):
    """GOT-OCR 2: 256 tokens; the processor cuts only where its caller wants it."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        tiles, step = tiles_of(image, settings.part("image"))
        return ItemTokens(256 * tiles, (step, "256 tokens a tile"))


@counts("aya_vision", "models/aya_vision/processing_aya_vision.py")
class AyaVision(ImagesOnly):
    """Aya Vision: a token before each tile, and two markers; cut always."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        root = settings.root
        merged = root.optional("patch_size", 28, least=1) * root.optional("downsample_factor", 1)
        across = root.optional("img_size", 364, least=1) // max(merged, 1)
        tiles, step = tiles_of(image, settings.part("image"))
        tokens = across * across
        return ItemTokens(
            tiles * (tokens + 1) + 2,
            (step, f"{across} x {across} tokens a tile and one before it, 2 markers"),
        )


@counts("cohere2_vision", "models/cohere2_vision/processing_cohere2_vision.py")
class Cohere2Vision(ImagesOnly):
    """Command A Vision: the grid that enlarges the image least; a token ends each tile."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        tiles = 1
        step = "1 tile"
        most = part.count("max_patches")
        if part.flag("crop_to_patches") and most > 1:
            tile = part.inner("size", "height")
            tiles, step = with_thumbnail(
                *canvas(image.width, image.height, tile, grids(1, most), float)
            )
        across = part.optional("patch_size", 16, least=1)
        tokens = across * across
        return ItemTokens(
            2 + tiles * (tokens + 1),
            (step, f"{across} x {across} tokens a tile and one after it, 2 markers"),
        )


@counts("deepseek_ocr2", "models/deepseek_ocr2/processing_deepseek_ocr2.py")
class DeepseekOcr2(ImagesOnly):
    """DeepSeek-OCR 2: the whole on a page of its own, tiles only of an image larger than one, and
    one separator."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        root = settings.root
        patch = root.optional("patch_size", 16, least=1)
        ratio = root.optional("downsample_ratio", 4, least=1)
        overview = math.ceil(part.inner("size", "height") / patch / ratio) ** 2
        local = math.ceil(part.count("tile_size") / patch / ratio) ** 2
        columns, rows = _tiles_of_a_large_one(image, part)
        tiles = columns * rows
        return ItemTokens(
            overview + local * tiles + 1,
            (f"the whole: {overview:,} tokens", f"{tiles} tiles of {local:,}, 1 separator"),
        )


def _tiles_of_a_large_one(image: ImageItem, part: SettingsPart) -> tuple[int, int]:
    """(columns, rows) of an image larger than a tile; none of a smaller one."""
    tile = part.count("tile_size")
    if not part.flag("crop_to_patches") or max(image.height, image.width) <= tile:
        return 0, 0
    known = grids(part.count("min_patches"), part.count("max_patches"))
    return closest_ratio(image.height, image.width, tile, known)


@counts("unlimited_ocr", "models/unlimited_ocr/processing_unlimited_ocr.py")
class UnlimitedOcr(ImagesOnly):
    """Unlimited-OCR: as DeepSeek-OCR 2, with a token at the end of each row."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        root = settings.root
        patch = root.optional("patch_size", 16, least=1)
        ratio = root.optional("downsample_ratio", 4, least=1)
        page = max(part.inner("size", "height"), part.inner("size", "width"))
        overview = math.ceil(page // patch / ratio)
        local = math.ceil(part.count("tile_size") // patch / ratio)
        columns, rows = _tiles_of_a_large_one(image, part)
        cut = rows * local * (columns * local + 1)
        step = f"the whole: {overview} rows of {overview} tokens and an end, 1 separator"
        local_step = f"{columns} x {rows} tiles of {local} x {local}, an end a row: {cut:,}"
        return ItemTokens(overview * (overview + 1) + 1 + cut, (step, local_step))


@counts("ovis2", "models/ovis2/image_processing_ovis2.py")
class Ovis2(ImagesOnly):
    """Ovis 2: the fewest tiles that show nine tenths of the image, a marker between two."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        each = settings.root.optional("image_seq_length", 256, least=1)
        most = part.count("max_patches")
        tiles = 1
        if part.flag("crop_to_patches") and most > 1:
            tile = part.inner("size", "height")
            if part.flag("use_covering_area_grid", default=True):
                columns, rows = _covering(image, tile, grids(1, most))
            else:
                known = grids(part.count("min_patches"), most)
                columns, rows = closest_ratio(image.height, image.width, tile, known)
            tiles = columns * rows
        cut = tiles * (each + 1) - 1 if tiles > 1 else 0
        steps = [f"{tiles} tiles of {each:,} tokens, {tiles - 1} markers between"] * bool(cut)
        return ItemTokens(each + 3 + cut, (f"the whole: {each:,} tokens, 3 markers", *steps))


def _covering(image: ImageItem, tile: int, known: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """Of the grids that show more than nine tenths the smallest, of as small ones that which shows
    most; where none does, that which shows most. The library takes ``known`` as (rows, columns)."""
    shown = {grid: _shown(image, tile, *grid) for grid in known}
    enough = [grid for grid in known if shown[grid] > 0.9]
    if enough:
        return min(enough, key=lambda grid: (grid[0] * grid[1], -shown[grid]))
    return min(known, key=lambda grid: (-shown[grid], grid[0] * grid[1]))


def _shown(image: ImageItem, tile: int, rows: int, columns: int) -> float:
    """The share of the image's area that is left when each part is shrunk into a tile."""
    high = image.height // rows
    wide = image.width // columns
    last_high = image.height - (rows - 1) * high
    last_wide = image.width - (columns - 1) * wide
    sides = [
        (last_wide if column == columns - 1 else wide, last_high if row == rows - 1 else high)
        for row in range(rows)
        for column in range(columns)
    ]
    return sum(_area_in_tile(max(one), min(one), tile) for one in sides) / (
        image.width * image.height
    )


def _area_in_tile(long: float, short: float, tile: int) -> float:
    if long > tile:
        long, short = tile, short / long * tile
    return long * short


@counts("granite_docling", "models/granite_docling/image_processing_granite_docling.py")
class GraniteDocling(ImagesOnly):
    """Granite Docling: tiles with two markers each, an end of line a row, then the whole; more
    tiles for a wide page where `dense_max_patches` is set."""

    #: The tokenizer has markers of no more rows and columns.
    longest: ClassVar = 16

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        each = settings.root.optional("image_seq_len", 64, least=1)
        each *= 4 if part.flag("fine_route") else 1
        columns = rows = 1
        if part.flag("crop_to_patches", default=True) and part.count("max_patches") > 1:
            columns, rows = self._grid(image, part, self._most(image, part))
        tokens = rows * (columns * (each + 2) + 1)
        steps = [f"{columns} x {rows} tiles of {each:,} tokens and 2 markers, {rows} ends of rows"]
        if columns * rows > 1:
            tokens += each + 3
            steps.append(f"the whole: {each:,} tokens, 3 markers")
        return ItemTokens(tokens, tuple(steps))

    def _grid(self, image: ImageItem, part: SettingsPart, most: int) -> tuple[int, int]:
        if most <= 1:
            return 1, 1
        known = [
            grid for grid in grids(part.count("min_patches"), most) if max(grid) <= self.longest
        ]
        return closest_ratio(image.height, image.width, part.inner("size", "height"), known)

    def _most(self, image: ImageItem, part: SettingsPart) -> int:
        """``dense_max_patches`` for a page that is wide, or shrunk much by ``max_patches``."""
        most = part.count("max_patches")
        dense = part.optional("dense_max_patches", 0)
        scale, least, widest = (
            part.share(key) for key in ("dense_max_scale", "dense_min_aspect", "dense_max_aspect")
        )
        if not dense or not (scale or least):
            return most
        ratio = image.width / image.height
        if (least and not ratio > least) or (widest and ratio > widest):
            return most
        if scale:
            columns, _ = self._grid(image, part, most)
            if not columns * part.inner("size", "width") / image.width < scale:
                return most
        return dense


@counts("lfm2_vl", "models/lfm2_vl/image_processing_lfm2_vl.py")
class Lfm2VL(ImagesOnly):
    """LFM2-VL: one image within a budget of tokens, and of a much larger one tiles as well, each
    with a marker."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        patch = part.count("encoder_patch_size")
        ratio = part.count("downsample_factor")
        factor = patch * ratio
        least = part.count("min_image_tokens")
        most = part.count("max_image_tokens")
        high, wide = within_budget(
            image.height, image.width, factor, least * factor**2, most * factor**2, any_ratio=True
        )
        overview = _pooled(high, patch, ratio) * _pooled(wide, patch, ratio)
        step = f"resized to {wide:,} x {high:,}: {overview:,} tokens"
        columns, rows = self._tiles(image, part, factor, most * factor**2)
        tiles = columns * rows
        if tiles == 1:
            return ItemTokens(overview + 2, (step, "2 markers"))
        each = _pooled(part.count("tile_size"), patch, ratio) ** 2
        thumbnail = overview + 1 if part.flag("use_thumbnail", default=True) else 0
        steps = [f"{columns} x {rows} tiles of {each:,} tokens, a marker before each"]
        steps += [f"the whole, {step}, and a marker"] * bool(thumbnail)
        return ItemTokens(tiles * (each + 1) + thumbnail + 2, (*steps, "2 markers"))

    @staticmethod
    def _tiles(image: ImageItem, part: SettingsPart, factor: int, most: int) -> tuple[int, int]:
        """(columns, rows) of an image of more pixels than the tolerance allows for one."""
        fewest = part.count("min_tiles")
        largest = part.count("max_tiles")
        if not part.flag("do_image_splitting", default=True) or fewest == largest == 1:
            return 1, 1
        patch = part.count("encoder_patch_size")
        sides = (max(patch, round(side / factor) * factor) for side in (image.height, image.width))
        if math.prod(sides) <= most * part.ratio("max_pixels_tolerance"):
            return 1, 1
        known = grids_of_a_set(fewest, largest)
        return closest_ratio(image.height, image.width, part.count("tile_size"), known)


def _pooled(side: int, patch: int, ratio: int) -> int:
    return math.ceil(side // patch / ratio)
