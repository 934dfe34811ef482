"""Images cut into rows and columns of squares, each with markers and its own position: Idefics 3
and SmolVLM."""

import math

from ..core.media_tokens import ImageItem, VideoItem
from .processor_settings import ProcessorSettings
from .rule import ItemTokens, NoSounds, counts, takes_no

#: The library never makes an image larger (``MAX_IMAGE_SIZE`` of Idefics 3).
_LONGEST = 4096


@counts("idefics3 smolvlm", "models/idefics3/image_processing_idefics3.py")
class Idefics3(NoSounds):
    """Idefics 3: squares with two markers each, an end of line a row, then the whole.

    The empty line between the last row and the whole is one token, as in the tokenizers of the
    released models (Llama 3, SmolLM 2).
    """

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        each = settings.root.optional("image_seq_len", 169, least=1)
        rows = columns = 0
        if part.flag("do_image_splitting", default=True):
            longest = part.inner("size", "longest_edge")
            square = part.inner("max_image_size", "longest_edge")
            rows, columns = _grid(image, longest, square)
        tokens = each + 3
        steps = [f"the whole: {each:,} tokens, 3 markers"]
        if rows:
            steps.insert(0, f"{columns} x {rows} squares of {each:,} tokens and 2 markers")
            steps.insert(1, f"{rows} ends of rows")
        return ItemTokens(tokens + rows * (columns * (each + 2) + 1), tuple(steps))

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        if settings.model_type != "smolvlm":
            takes_no("video", settings)
        settings.part("video")
        each = settings.root.optional("image_seq_len", 169, least=1) + 3
        return ItemTokens(
            video.frames * (each + 1) + 1,
            (
                f"{video.frames:,} frames of {each:,} tokens, 3 of them markers",
                f"{video.frames + 1:,} ends of lines",
                "without the words before the video and the time before each frame",
            ),
        )


def _grid(image: ImageItem, longest: int, square: int) -> tuple[int, int]:
    """Rows and columns of squares; none where one square holds it."""
    high, wide = _to_longest(image.height, image.width, longest)
    if max(high, wide) > _LONGEST:
        high, wide = _to_longest(high, wide, _LONGEST, even=False)
    rows = math.ceil(high / square)
    columns = math.ceil(wide / square)
    return (rows, columns) if rows > 1 or columns > 1 else (0, 0)


def _to_longest(high: int, wide: int, longest: int, *, even: bool = True) -> tuple[int, int]:
    """The longer side as given, the other in proportion and even."""
    ratio = wide / high
    if wide >= high:
        wide = longest
        high = int(longest / ratio)
        high += high % 2 if even else 0
    else:
        high = longest
        wide = int(longest * ratio)
        wide += wide % 2 if even else 0
    return max(high, 1), max(wide, 1)
