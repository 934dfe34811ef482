"""Into which pictures llama.cpp cuts an image: slices of one size, and an overview next to them."""

import math
from typing import Final, NamedTuple

from ..processor_settings import MAX_TILES, UnknownTokensError
from .projector_keys import ProjectorKeys, divided, single, times
from .resized_images import (
    Pixels,
    best_candidate,
    best_grid,
    best_square,
    divisible,
    nearest_grid,
    preserved_ratio,
)


class Pictures(NamedTuple):
    """``columns`` by ``rows`` slices of one ``size``, and the ``overview``; None where none is."""

    columns: int = 0
    rows: int = 0
    size: Pixels | None = None
    overview: Pixels | None = None

    @property
    def step(self) -> str:
        parts = []
        if self.size is not None:
            of = f"{self.size[0]:,} x {self.size[1]:,} pixels"
            parts.append(f"{self.columns} x {self.rows} slices of {of}")
        if self.overview is not None:
            parts.append(f"an overview at {self.overview[0]:,} x {self.overview[1]:,}")
        return ", ".join(parts)


def of_resolution(side: int, resolution: Pixels) -> Pictures:
    """Squares of the side; llama.cpp stops at a resolution that they do not fill."""
    if resolution[0] % side or resolution[1] % side:
        raise UnknownTokensError(f"squares of {side:,} do not fill {resolution[0]:,} pixels")
    return Pictures(resolution[0] // side, resolution[1] // side, (side, side), (side, side))


def listed(size: Pixels, side: int, candidates: list[Pixels]) -> Pictures:
    """LLaVA-NeXT: the best of a list; an image that fits into a square is not cut."""
    if max(size) <= side:
        return Pictures(overview=(side, side))
    return of_resolution(side, best_candidate(size, candidates))


def free_slices(size: Pixels, keys: ProjectorKeys, merge: int) -> Pictures:
    """MiniCPM-V: up to nine slices in the image's own shape."""
    side = keys.side
    align = keys.patch * merge
    if max(size) <= side:
        return Pictures(overview=(side, side))
    overview = best_square(size, side, align, enlarge=False)
    columns, rows = best_grid(size, side)
    cell = divisible(size[0], columns) // columns, divisible(size[1], rows) // rows
    return Pictures(columns, rows, best_square(cell, side, align, enlarge=True), overview)


def minicpm_merged(size: Pixels, keys: ProjectorKeys, merge: int) -> Pictures:
    """MiniCPM-V 4.6: an image below a square is enlarged in its shape where two are merged."""
    side = keys.side
    if merge == 2 and divided(times(*size), side * side) <= 1:
        return Pictures(overview=best_square(size, side, keys.patch * merge, enlarge=True))
    return free_slices(size, keys, merge)


def in_squares(least: int, most: int, side: int) -> list[Pixels]:
    """InternVL: every grid between two numbers of tiles."""
    if most > MAX_TILES:
        raise UnknownTokensError(f"more than {MAX_TILES} tiles")
    return [
        (columns * side, rows * side)
        for columns in range(least, most + 1)
        for rows in range(max(-(-least // columns), least), min(most // columns, most) + 1)
    ]


def idefics(size: Pixels, keys: ProjectorKeys) -> Pictures:
    """Idefics 3: brought to the longest edge, then to whole squares; always cut."""
    side = keys.side
    longest = keys.count("preproc_image_size", 0, least=0, most=65_536)
    if longest:
        shape = size[0] / size[1]
        if size[0] >= size[1]:
            high = int(longest / shape)
            resized = longest, high + high % 2
        else:
            wide = int(longest * shape)
            resized = wide + wide % 2, longest
        columns = -(-resized[0] // side)
        rows = -(-resized[1] // side)
    else:
        wide, high = preserved_ratio(size, side, 0, 0)
        columns = wide // side
        rows = high // side
    if not columns or not rows:
        raise UnknownTokensError("llama.cpp would resize the image to nothing")
    return Pictures(columns, rows, (side, side), (side, side))


#: LFM2's own, in llama.cpp's code.
LFM_TILE: Final = 512


def lfm(size: Pixels, keys: ProjectorKeys, merge: int, least: int, most: int) -> Pictures:
    """LFM2-VL: one picture, or 2 to 10 tiles and an overview where it has twice the pixels."""
    align = keys.patch * merge
    patch = keys.patch
    overview = preserved_ratio(size, align, least, most)
    wide, high = (max(patch, round(side / align) * align) for side in size)
    if high * wide <= most * 2.0:
        return Pictures(overview=overview)
    columns, rows = nearest_grid(size, LFM_TILE, 2, 10)
    return Pictures(columns, rows, (LFM_TILE, LFM_TILE), overview)


#: DeepSeek-OCR's page; its tiles are those of its releases.
PAGE: Final = 1_024


def pages(size: Pixels, keys: ProjectorKeys, tile: int, most: int) -> Pictures:
    least = keys.count("preproc_min_tiles", 2, least=0, most=MAX_TILES)
    most = keys.count("preproc_max_tiles", most, least=least, most=MAX_TILES)
    if max(size) <= tile:
        return Pictures(overview=(PAGE, PAGE))
    return Pictures(*nearest_grid(size, tile, least, most), (tile, tile), (PAGE, PAGE))


#: Step3-VL's crop, and the shapes at which it cuts, in llama.cpp's code.
CROP: Final = 504


def windows(size: Pixels, keys: ProjectorKeys) -> Pictures:
    """Step3-VL: windows over the image at its own size, each brought to 504 pixels."""
    side = keys.side
    longest = keys.count("preproc_image_size", 0, least=0) or 3024
    shape = divided(*size)
    if min(size) < 32 and (shape > 4 or shape < 0.25):
        size = (max(size), max(size))
    if max(size) > longest:
        scale = divided(longest, max(size))
        size = max(1, int(times(size[0], scale))), max(1, int(times(size[1], scale)))
    long = max(size)
    short = min(size)
    shape = divided(long, short)
    if long <= side:
        window = short if shape > 1.5 else 0
    else:
        window = min(short, CROP) if shape > 4 else CROP
    overview = (side, side)
    if not window:
        return Pictures(overview=overview)
    columns, rows = (_starts(_extent(length, window), window) for length in size)
    return Pictures(columns, rows, (CROP, CROP), overview)


def _extent(length: int, window: int) -> int:
    ratio = divided(length, window)
    if ratio < 1:
        return length
    windows = math.floor(ratio)
    return window * (windows + (single(ratio - windows) > single(0.2)))


def _starts(length: int, window: int) -> int:
    if length <= window:
        return 1
    return math.ceil(single(divided(length - window, window) + 1))
