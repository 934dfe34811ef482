"""Images laid on a canvas of tiles that is chosen by how much it enlarges them."""

import math
import struct
from collections.abc import Callable, Sequence

from ..core.media_tokens import ImageItem, VideoItem
from .processor_settings import ProcessorSettings, UnknownTokensError
from .resizing import grids
from .rule import ImagesOnly, ItemTokens, NoSounds, counts


def canvas(
    height: int,
    width: int,
    tile: int,
    known: Sequence[tuple[int, int]],
    rounded: Callable[[float], float],
    *,
    largest: bool = False,
) -> tuple[int, int]:
    """(rows, columns) of the canvas: of those that need no shrinking the one that enlarges least
    (``largest``: most), else the one that shrinks least; of equal ones that of the fewest tiles."""
    scales = [
        min(rounded(_times(rows * tile, height)), rounded(_times(columns * tile, width)))
        for rows, columns in known
    ]
    large = [scale for scale in scales if scale >= 1]
    chosen = (max(large) if largest else min(large)) if large else max(scales)
    fitting = [grid for grid, scale in zip(known, scales, strict=True) if scale == chosen]
    return min(fitting, key=lambda grid: grid[0] * grid[1])


def _times(side: int, of_image: int) -> float:
    return side / of_image if of_image else math.inf


def as_float32(value: float) -> float:
    """The library divides tensors of single precision, and compares what comes out."""
    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded


@counts("llama4", "models/llama4/image_processing_llama4.py")
class Llama4(ImagesOnly):
    """Llama 4: tiles with a separator after each, and the whole where there are several."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        root = settings.root
        tile = part.inner("size", "height")
        most = part.count("max_patches")
        largest = part.flag("resize_to_max_canvas")
        rows, columns = canvas(
            image.height, image.width, tile, _chunks(most), as_float32, largest=largest
        )
        across = tile // root.optional("patch_size", 14, least=1)
        ratio = root.ratio("pixel_shuffle_ratio") if root.says("pixel_shuffle_ratio") else 0.5
        each = across * across // max(round(1.0 / ratio**2), 1)
        tiles = rows * columns
        cut = tiles * each + tiles if tiles > 1 else 0
        steps = [f"{columns} x {rows} tiles of {each:,} tokens, a separator after each"] * (
            tiles > 1
        )
        return ItemTokens(cut + each + 3, (*steps, f"the whole: {each:,} tokens, 3 markers"))


def _chunks(most: int) -> list[tuple[int, int]]:
    """(rows, columns) in the library's order: grouped by their ratio, the most tiles first."""
    by_ratio: dict[float, list[tuple[int, int]]] = {}
    counts = sorted({rows * columns for rows, columns in grids(1, most)}, reverse=True)
    for count in counts:
        for rows in range(1, count + 1):
            if count % rows == 0:
                grid = (rows, count // rows)
                by_ratio.setdefault(grid[0] / grid[1], []).append(grid)
    return [grid for group in by_ratio.values() for grid in group]


@counts("perception_lm", "models/perception_lm/image_processing_perception_lm.py")
class PerceptionLM(NoSounds):
    """Perception LM: the tiles that show the image largest, or where it is too large those of its
    shape, and the whole; pooled by two, as is each frame of a video."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        tiles = 1
        step = "1 tile"
        tile = part.count("tile_size")
        most = part.count("max_num_tiles")
        if part.text("vision_input_type") == "thumb+tile":
            columns, rows = _widest(image, tile, _chunks(most)) if most > 1 else (1, 1)
            tiles = columns * rows + 1
            step = f"{columns} x {rows} tiles and the whole"
        each = self._pooled(tile, settings) ** 2
        return ItemTokens(tiles * each, (f"{step}: {each:,} tokens each",))

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("video")
        high, wide = (self._pooled(part.inner("size", s), settings) for s in ("height", "width"))
        step = f"{video.frames:,} frames of {wide} x {high} tokens"
        return ItemTokens(video.frames * high * wide, (step,))

    @staticmethod
    def _pooled(side: int, settings: ProcessorSettings) -> int:
        root = settings.root
        return side // root.count("patch_size") // root.optional("pooling_ratio", 2, least=1)


def _widest(image: ImageItem, tile: int, known: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """(columns, rows) that hold the image with its short side longest, of as long ones the last; or
    the nearest that are not more oblong than it, of as near ones the most."""
    high = image.height
    wide = image.width
    ratio = wide / high
    holding = [(c, r) for c, r in known if c * tile >= wide and r * tile >= high]
    if not holding:
        near = [(c, r) for c, r in known if (c / r <= ratio if ratio >= 1 else c / r > ratio)]
        if ratio >= 1:
            return max(near, key=lambda grid: (grid[0] / grid[1], grid[0]))
        return min(near, key=lambda grid: (grid[0] / grid[1], -grid[1]))

    def short(grid: tuple[int, int]) -> float:
        scale = min(grid[0] * tile / wide, grid[1] * tile / high)
        if ratio == 1:
            return scale * high
        return math.floor(scale * wide / ratio if ratio > 1 else scale * high * ratio)

    return max(reversed(holding), key=short)


@counts("mllama", "models/mllama/image_processing_mllama.py")
class Mllama(ImagesOnly):
    """Llama 3.2 Vision: one token in the text; the image is in the cross-attention, which keeps all
    tiles that the processor pads to."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        vision = settings.section("vision_config")
        tile = part.inner("size", "height")
        most = part.count("max_image_tiles")
        known = sorted(grids(1, most))  # the library's order: by rows, then columns
        rows, columns = canvas(image.height, image.width, tile, known, float)
        across = vision.count("image_size") // vision.count("patch_size")
        each = across * across + 1
        return ItemTokens(
            1,
            (
                f"{columns} x {rows} tiles of {tile} pixels, padded to {most} tiles",
                (
                    f"{across} x {across} patches and a class token a tile: "
                    f"{most} x {each:,} = {most * each:,} positions of cross-attention"
                ),
                "1 token in the text",
            ),
            cross=most * each,
        )


@counts("molmo2", "models/molmo2/image_processing_molmo2.py")
class Molmo2(NoSounds):
    """Molmo 2: crops that overlap, pooled as one picture, and the whole at one crop's size, each
    with a token at the end of each row and two markers."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        root = settings.root
        patch = part.count("patch_size")
        side = part.inner("size", "height") // patch
        margin = sum(part.couple("overlap_margins", least=0))
        pool_high, pool_wide = part.couple("pooling_size")
        window = side - margin
        if window < 1:
            raise UnknownTokensError("overlap_margins leave nothing of a crop")
        known = sorted(grids(1, part.count("max_crops")), key=lambda grid: (math.prod(grid), grid))
        high = image.height - margin * patch
        wide = image.width - margin * patch
        rows, columns = canvas(high, wide, window * patch, known, as_float32)
        down = -(-(rows * window + margin) // pool_high)
        across = -(-(columns * window + margin) // pool_wide)
        low_down = -(-side // pool_high)
        low_across = -(-side // pool_wide)
        ends = root.flag("image_use_col_tokens", default=True)
        low_ends = root.flag("use_single_crop_col_tokens", default=ends)
        high = down * (across + ends) + 2
        low = low_down * (low_across + low_ends) + 2
        step = f"the whole: {low_across} x {low_down} tokens, with ends and markers {low:,}"
        crops = f"{columns} x {rows} crops: {across} x {down} tokens, with them {high:,}"
        return ItemTokens(low + high, (step, crops))

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("video")
        side = part.inner("size", "height") // part.count("patch_size")
        pool_high, pool_wide = part.couple("pooling_size")
        down = -(-side // pool_high)
        across = -(-side // pool_wide)
        each = down * (across + settings.root.flag("video_use_col_tokens")) + 2
        return ItemTokens(
            video.frames * each,
            (
                f"{video.frames:,} frames of {across} x {down} tokens, with markers {each:,}",
                "without the time that stands before each frame as text",
            ),
        )
