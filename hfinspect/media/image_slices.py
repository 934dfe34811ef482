"""Images next to slices of themselves, whose shape follows the image's: MiniCPM-V and Step 3.7."""

import math
from typing import ClassVar

from ..core.media_tokens import ImageItem, VideoItem
from .processor_settings import MAX_TILES, ProcessorSettings, SettingsPart, UnknownTokensError
from .rule import ImagesOnly, ItemTokens, NoSounds, counts, not_judged


@counts("minicpmv4_6 minicpm_ocr", "models/minicpmv4_6/image_processing_minicpmv4_6.py")
class MiniCpmV(NoSounds):
    """MiniCPM-V 4.6: the whole and up to nine slices, two markers each, an end of line between rows
    of slices, a number between two markers before it; each frame of a video is such an image."""

    numbers_videos: ClassVar = True

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        if part.text("small_image_upsize") == "adaptive":
            raise UnknownTokensError("small_image_upsize is adaptive: it depends on what is shown")
        always = part.text("small_image_upsize", "always") == "always"
        tokens, steps = _sliced(image.height, image.width, part, always=always)
        number = 2 if part.flag("use_image_id", default=True) else 0
        return ItemTokens(tokens + number, (*steps, *_NUMBERED[: number // 2]))

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("video")
        if part.optional("stack_frames", 1) > 1:
            not_judged("video with stack_frames", settings)
        each, steps = _sliced(video.height, video.width, part)
        numbered = self.numbers_videos and settings.part("image").flag("use_image_id", default=True)
        number = 2 if numbered else 0
        frames = f"{video.frames:,} frames of {each:,} tokens"
        return ItemTokens(video.frames * each + number, (*steps, frames, *_NUMBERED[: number // 2]))


_NUMBERED = ("2 markers around its number, which is text and not counted",)


@counts("minicpmv4_7")
class MiniCpmV47(MiniCpmV):
    """MiniCPM-V 4.7: the same, without a number before a video."""

    numbers_videos: ClassVar = False


def _sliced(
    height: int, width: int, part: SettingsPart, *, always: bool = True
) -> tuple[int, tuple[str, ...]]:
    """Tokens of the whole and of its slices, and the steps."""
    side = part.count("scale_resolution")
    patch = part.count("patch_size")
    merge = 2 if part.text("downsample_mode") == "4x" else 4
    most = part.count("max_slice_nums", most=MAX_TILES)
    slices = part.flag("slice_mode", default=True) and height * width > side * side
    rows, columns = _grid(height, width, most, side) if slices else (0, 0)
    step = patch * merge
    high, wide = _near(height, width, side, step, enlarged=always and not rows)
    overview = (high // patch) * (wide // patch) // merge**2
    steps = [f"the whole at {wide:,} x {high:,}: {overview:,} tokens, 2 markers"]
    if not rows:
        return overview + 2, tuple(steps)
    high, wide = _near(
        _round(height, rows) / rows, _round(width, columns) / columns, side, step, enlarged=True
    )
    each = (high // patch) * (wide // patch) // merge**2
    steps.append(f"{columns} x {rows} slices at {wide:,} x {high:,}: {each:,} tokens, 2 markers")
    steps.append(f"{rows - 1} ends of lines between rows")
    return overview + 2 + rows * columns * (each + 2) + rows - 1, tuple(steps)


def _round(length: float, divisor: int) -> int:
    return max(round(length / divisor) * divisor, divisor)


def _near(height: float, width: float, side: int, step: int, *, enlarged: bool) -> tuple[int, int]:
    """About ``side`` squared pixels in the same shape, both sides multiples of ``step``."""
    if height * width > side * side or enlarged:
        ratio = width / height
        height = int(side / math.sqrt(ratio))
        width = int(height * ratio)
    return _round(height, step), _round(width, step)


def _grid(height: int, width: int, most: int, side: int) -> tuple[int, int]:
    """(rows, columns), as many as the image has squares of ``side``, or one more or fewer; none for
    one."""
    count = min(math.ceil(width * height / (side * side)), most)
    if count <= 1:
        return 0, 0
    ratio = math.log(width / height)
    best = (1, 1)
    least = math.inf
    for number in (count - 1, count, count + 1):
        if number == 1 or number > most:
            continue
        for rows in (one for one in range(1, number + 1) if number % one == 0):
            columns = number // rows
            error = abs(ratio - math.log(columns / rows))
            if error < least or (error == least and rows > best[0]):
                best = (rows, columns)
                least = error
    return best


@counts("step3p7", "models/step3p7/image_processing_step3p7.py")
class Step3p7(ImagesOnly):
    """Step 3.7: the whole, and windows of it before, two markers each and a token at the end of
    each row but the last."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        page = part.inner("size", "height")
        window = part.count("patch_size")
        patch = part.optional("vision_patch_size", 14, least=1)
        stride = patch * part.optional("downsampler_stride", 4, least=1)
        overview = (page // stride) ** 2
        each = (window // stride) ** 2
        columns, rows = _windows(image, page, window, part.count("max_image_size"))
        cut = rows * columns * (each + 2) + max(rows - 1, 0)
        steps = [f"{columns} x {rows} windows of {each:,} tokens, 2 markers"] * bool(cut)
        steps += [f"{rows - 1} ends of rows"] * bool(cut)
        return ItemTokens(
            cut + overview + 2, (*steps, f"the whole: {overview:,} tokens, 2 markers")
        )


def _windows(image: ImageItem, page: int, window: int, longest: int) -> tuple[int, int]:
    """(columns, rows) of windows: none of an image that a page holds, unless it is oblong."""
    wide = image.width
    high = image.height
    if min(wide, high) < 32 and max(wide / high, high / wide) > 4:
        wide = high = max(wide, high)
    if max(wide, high) > longest:
        scale = longest / max(wide, high)
        wide = int(wide * scale)
        high = int(high * scale)
    short = min(wide, high)
    long = max(wide, high)
    if long <= page:
        window = short if long / short > 1.5 else 0
    elif long / short > 4:
        window = min(short, window)
    if not window:
        return 0, 0
    return _snapped(wide, window), _snapped(high, window)


def _snapped(side: int, window: int) -> int:
    if side < window:
        return 1
    return max(1, side // window + (side % window > 0.2 * window))
