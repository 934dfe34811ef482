"""To which size a processor brings an image: the arithmetic that several families share.

Floats are those of the library, step by step, so that every rounding is the same.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache

from .processor_settings import MAX_TILES, UnknownTokensError

#: The library refuses images that are longer than this many times their width.
MAX_RATIO = 200


def within_budget(
    height: int,
    width: int,
    factor: int,
    least: int,
    most: int,
    *,
    enlarged: bool = False,
    any_ratio: bool = False,
) -> tuple[int, int]:
    """Both sides as multiples of ``factor``, their product from ``least`` to ``most`` pixels.

    ``smart_resize`` of Qwen2-VL; ``enlarged``: a side below the factor is brought to it first, as
    in PaddleOCR-VL; ``any_ratio``: each side is one factor or more, however long the other, as in
    LFM2-VL. Raises UnknownTokensError.
    """
    if enlarged and height < factor:
        height, width = factor, round((width * factor) / height)
    if enlarged and width < factor:
        height = round((height * factor) / width)
        width = factor
    if not any_ratio:
        check_ratio(height, width)
    return _fitted(height, width, factor, least, most, lowest=factor if any_ratio else 0)


def _fitted(
    height: int,
    width: int,
    factor: int,
    least: int,
    most: int,
    *,
    lowest: int = 0,
    frames: int = 1,
    long: int = 1,
) -> tuple[int, int]:
    """Both sides as multiples; the budget counts ``long`` frames, and its share ``frames``."""
    high = max(lowest, round(height / factor) * factor)
    wide = max(lowest, round(width / factor) * factor)
    if long * high * wide > most:
        beta = math.sqrt((frames * height * width) / most)
        high = max(factor, math.floor(height / beta / factor) * factor)
        wide = max(factor, math.floor(width / beta / factor) * factor)
    elif long * high * wide < least:
        beta = math.sqrt(least / (frames * height * width))
        high = math.ceil(height * beta / factor) * factor
        wide = math.ceil(width * beta / factor) * factor
    return high, wide


def frames_within_budget(
    frames: int, height: int, width: int, step: int, factor: int, least: int, most: int
) -> tuple[int, int]:
    """The same for a video, whose budget counts the pixels of all frames (``smart_resize`` of
    GLM-4V and Qwen3-VL). ``step``: frames of a patch. Raises UnknownTokensError."""
    if frames < step:
        raise UnknownTokensError(f"{frames:,} frames are fewer than the {step:,} of a patch")
    if height < factor or width < factor:
        scale = max(factor / height, factor / width)
        height = int(height * scale)
        width = int(width * scale)
    check_ratio(height, width)
    long = round(frames / step) * step
    return _fitted(height, width, factor, least, most, frames=frames, long=long)


def check_ratio(height: int, width: int, most: int = MAX_RATIO) -> None:
    """Raises UnknownTokensError for a strip that the library refuses."""
    if max(height, width) / min(height, width) > most:
        raise UnknownTokensError(
            f"the processor refuses an image more than {most} times as long as wide"
        )


def whole_within_budget(
    frames: int, height: int, width: int, step: int, factor: int, least: int, most: int
) -> tuple[int, int]:
    """Both sides rounded up to multiples of ``factor``, all frames within a budget of pixels
    (``smart_resize`` of GLM-5). Raises UnknownTokensError."""
    long = max(step, round(frames / step) * step)
    high = _rounded_up(height, factor)
    wide = _rounded_up(width, factor)
    if long * high * wide < least:
        scale = math.sqrt(least / (frames * height * width))
        high = _rounded_up(max(1, math.ceil(height * scale)), factor)
        wide = _rounded_up(max(1, math.ceil(width * scale)), factor)
    if long * high * wide <= most:
        return high, wide
    if long * factor * factor > most:
        raise UnknownTokensError("the processor refuses it: one patch is more than its budget")
    high = wide = factor
    lowest = 1
    highest = height
    while lowest <= highest:  # the tallest that the budget holds
        middle = (lowest + highest) // 2
        tall = _rounded_up(middle, factor)
        broad = _rounded_up(max(1, math.floor(width * middle / height)), factor)
        if long * tall * broad <= most:
            high = tall
            wide = broad
            lowest = middle + 1
        else:
            highest = middle - 1
    return high, wide


def _rounded_up(side: int, factor: int) -> int:
    return math.ceil(side / factor) * factor


def closest_grid(height: int, width: int, patch: int, most: int) -> tuple[int, int]:
    """(rows, columns) of at most ``most`` patches, as near to the image's shape as whole patches
    are (``smart_resize`` of Muse)."""
    down = height / patch
    across = width / patch
    ratio = across / down if down > 0 else 1.0
    if down * across > most:
        down = (most / ratio) ** 0.5
        across = down * ratio
    rows = (math.floor(down), math.ceil(down))
    columns = (math.floor(across), math.ceil(across))
    # The library takes the first of equally near ones in the order of a set, and so must this.
    known = [
        (high, wide)
        for high, wide in list({(high, wide) for high in rows for wide in columns})
        if high >= 1 and wide >= 1 and high * wide <= most
    ]
    known = known or [(max(1, round(down)), max(1, round(across)))]
    return min(known, key=lambda grid: abs(grid[0] / grid[1] - height / width))


def best_resolution(height: int, width: int, known: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Which (height, width) of a list keeps most of the image and wastes least of itself
    (``select_best_resolution`` of LLaVA-NeXT)."""
    best = known[0]
    most = 0
    least = math.inf
    for high, wide in known:
        scale = min(wide / width, high / height)
        area = min(int(width * scale) * int(height * scale), width * height)
        wasted = high * wide - area
        if area > most or (area == most and wasted < least):
            best = (high, wide)
            most = area
            least = wasted
    return best


@cache
def grids(least: int, most: int) -> tuple[tuple[int, int], ...]:
    """All (columns, rows) of ``least`` to ``most`` tiles, those of fewer tiles first, and of as
    many the narrower first. Raises UnknownTokensError for more tiles than any processor has."""
    if most > MAX_TILES:
        raise UnknownTokensError(f"{most:,} tiles are more than the {MAX_TILES} that are tried")
    return tuple(sorted(_grids(least, most), key=lambda grid: grid[0] * grid[1]))


def _grids(least: int, most: int) -> Iterator[tuple[int, int]]:
    for columns in range(1, most + 1):
        for rows in range(1, most // columns + 1):
            if columns * rows >= least:
                yield columns, rows


@cache
def grids_of_a_set(least: int, most: int) -> tuple[tuple[int, int], ...]:
    """The same grids; those of as many tiles stand in the order of a set, which depends on that in
    which they came in (``_target_ratios`` of LFM2-VL)."""
    came = sorted(grids(least, most), key=lambda grid: (max(*grid, least), *grid))
    return tuple(sorted(set(came), key=lambda grid: grid[0] * grid[1]))


def closest_ratio(
    height: int, width: int, tile: int, known: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """(columns, rows) whose ratio is nearest to the image's; of as near ones the last that the
    image fills by half (InternVL, GOT-OCR 2)."""
    best = (1, 1)
    nearest = math.inf
    ratio = width / height
    area = width * height
    for columns, rows in known:
        distance = abs(ratio - columns / rows)
        if distance < nearest:
            best = (columns, rows)
            nearest = distance
        elif distance == nearest and area > 0.5 * tile * tile * columns * rows:
            best = (columns, rows)
    return best
