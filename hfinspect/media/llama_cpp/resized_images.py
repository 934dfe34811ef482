"""To which size llama.cpp brings an image (``mtmd-image.cpp``), rounded as its floats are."""

import math

from ..processor_settings import UnknownTokensError
from .projector_keys import MAX_PIXELS, divided, root, rounded, single, times

Pixels = tuple[int, int]  # width, height


def check_pixels(width: int, height: int) -> None:
    """Raises UnknownTokensError where llama.cpp's numbers overflow."""
    if width * height > MAX_PIXELS:
        raise UnknownTokensError(f"{width:,} x {height:,} pixels are more than llama.cpp counts")


def preserved_ratio(size: Pixels, align: int, least: int, most: int, longest: int = 0) -> Pixels:
    """Both sides as multiples of ``align`` within the numbers of pixels; 0 is no limit."""
    width, height = size

    def up(number: float) -> int:
        return math.ceil(divided(number, align)) * align

    def down(number: float) -> int:
        return max(align, math.floor(divided(number, align)) * align)

    if longest:
        scale = min(divided(longest, width), divided(longest, height))
        wide = up(times(width, scale))
        high = up(times(height, scale))
    else:
        wide, high = (max(align, rounded(divided(side, align)) * align) for side in size)
    check_pixels(wide, high)
    if most and wide * high > most:
        beta = root(divided(times(height, width), most))
        wide = down(divided(width, beta))
        high = down(divided(height, beta))
    elif least and wide * high < least:
        beta = root(divided(least, times(height, width)))
        wide = up(times(width, beta))
        high = up(times(height, beta))
    check_pixels(wide, high)
    return wide, high


def aligned_up(size: Pixels, factor: int, least: int, most: int) -> Pixels:
    """GLM 5V: sides rounded up; where that is too much, the largest height whose canvas fits."""
    width, height = size

    def up(side: int) -> int:
        return -(-side // factor) * factor

    wide = up(width)
    high = up(height)
    if wide * high < least:
        scale = math.sqrt(least / (height * width))
        wide, high = (up(max(1, math.ceil(side * scale))) for side in size)
    if wide * high <= most:
        return wide, high
    low = 1
    top = height
    best = (factor, factor)
    while low <= top:
        middle = (low + top) // 2
        tried = up(max(1, width * middle // height)), up(middle)
        if tried[0] * tried[1] <= most:
            best = tried
            low = middle + 1
        else:
            top = middle - 1
    return best


def by_small_steps(size: Pixels, patch: int, align: int, most: int) -> Pixels:
    """Youtu-VL: shrunk by steps of a fiftieth until the patches are few enough."""
    scale = 1.0
    step = single(0.02)
    wide = high = align
    while scale > 0:
        wide, high = (
            max(align, math.ceil(divided(times(side, scale), align)) * align) for side in size
        )
        if (high // patch) * (wide // patch) <= most:
            break
        scale = single(scale - step)
    return wide, high


def nearest_shape(size: Pixels, square: int, most: int) -> Pixels:
    """Muse Glimmer: whole squares whose shape is nearest to the image's."""
    width, height = size
    rows = height / square
    columns = width / square
    ratio = columns / rows
    if rows * columns > most:
        rows = math.sqrt(most / ratio)
        columns = rows * ratio
    best: tuple[float, int, int, int] | None = None
    for high in (math.floor(rows), math.ceil(rows)):
        for wide in (math.floor(columns), math.ceil(columns)):
            if high < 1 or wide < 1 or high * wide > most:
                continue
            distance = abs(high / wide - height / width)
            if best is None or (distance, -high * wide) < best[:2]:
                best = (distance, -high * wide, wide, high)
    if best is None:
        return max(1, rounded(columns)) * square, max(1, rounded(rows)) * square
    return best[2] * square, best[3] * square


def best_candidate(size: Pixels, candidates: list[Pixels]) -> Pixels:
    """The listed resolution that keeps most of the image and wastes least."""
    width, height = size
    best = candidates[0]
    most = 0
    least = MAX_PIXELS
    for candidate in candidates:
        scale = min(divided(candidate[0], width), divided(candidate[1], height))
        covered = min(int(times(width, scale)) * int(times(height, scale)), width * height)
        wasted = candidate[0] * candidate[1] - covered
        if covered > most or (covered == most and wasted < least):
            best = candidate
            most = covered
            least = wasted
    return best


def best_square(size: Pixels, side: int, align: int, *, enlarge: bool) -> Pixels:
    """LLaVA-UHD: as many pixels as a square of ``side``, in the image's shape."""
    width, height = size
    if width * height > side * side or enlarge:
        ratio = divided(width, height)
        height = int(divided(side, root(ratio)))
        width = int(times(height, ratio))
    return divisible(width, align), divisible(height, align)


def divisible(length: int, by: int) -> int:
    return max(int(single(rounded(divided(length, by)) * by)), by)


def best_grid(size: Pixels, side: int, most: int = 9) -> Pixels:
    """LLaVA-UHD: columns and rows of at most nine slices."""
    width, height = size
    shape = single(math.log(divided(width, height)))
    area = divided(times(width, height), side * side)
    multiple = min(math.ceil(area), most)
    best = (1, 1)
    error = math.inf
    for count in (multiple - 1, multiple, multiple + 1):
        if count == 1 or count > most:
            continue
        for columns in range(1, count + 1):
            if count % columns:
                continue
            rows = count // columns
            distance = single(abs(shape - math.log(columns / rows)))
            if distance < error:
                best = (columns, rows)
                error = distance
    return best


def nearest_grid(size: Pixels, side: int, least: int, most: int) -> Pixels:
    """Columns and rows between two numbers of tiles whose shape is nearest to the image's. Raises
    UnknownTokensError where llama.cpp's own order of equal ones decides."""
    width, height = size
    shape = divided(width, height)
    area = single(width * height)
    best = (1, 1)
    error = math.inf
    grids = {
        (wide, high)
        for wide in range(1, most + 1)
        for high in range(1, most // wide + 1)
        if wide * high >= least
    }
    for grid in sorted(grids, key=lambda one: (one[0] * one[1], one)):
        distance = abs(single(shape - divided(*grid)))
        if distance == error and best[0] * best[1] == grid[0] * grid[1]:
            raise UnknownTokensError("two grids of tiles are equally near to the image's shape")
        larger = area > times(0.5, side * side * grid[0] * grid[1])
        if distance < error or (distance == error and larger):
            best = grid
            error = distance
    return best
