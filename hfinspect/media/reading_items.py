"""What a user wrote of images, videos and sounds, checked."""

import re
from decimal import Decimal

from ..core.media_tokens import (
    MAX_FRAMES,
    MAX_ITEMS,
    MAX_SECONDS,
    MAX_SIDE,
    AudioItem,
    ImageItem,
    MediaItem,
    VideoItem,
)
from ..errors import UsageError


def media_items(
    image: str | None, images: int, video: str | None, audio: str | None
) -> tuple[tuple[MediaItem, int], ...]:
    """Each item with how many there are of it. Raises UsageError."""
    if isinstance(images, bool) or not 1 <= images <= MAX_ITEMS:
        raise UsageError(f"images {images!r}", "is not possible", expected=f"1 to {MAX_ITEMS:,}")
    if images > 1 and image is None:
        raise UsageError("images", "needs their size", expected="image='1024x1024'")
    items: list[tuple[MediaItem, int]] = []
    if image is not None:
        width, height = _numbers(image, "image", "1024x768", (MAX_SIDE, MAX_SIDE))
        items.append((ImageItem(width, height, several=images > 1), images))
    if video is not None:
        most = (MAX_SIDE, MAX_SIDE, MAX_FRAMES)
        width, height, frames = _numbers(video, "video", "640x480x64", most)
        items.append((VideoItem(width, height, frames), 1))
    if audio is not None:
        items.append((AudioItem(_milliseconds(audio)), 1))
    return tuple(items)


def _numbers(text: object, what: str, example: str, most: tuple[int, ...]) -> list[int]:
    """Whole numbers with an x between them, each from 1 to its limit."""
    words = str(text).lower().replace(" ", "").replace("\N{MULTIPLICATION SIGN}", "x").split("x")
    numbers = [int(word) for word in words if re.fullmatch(r"[0-9]{1,9}", word)]
    good = len(numbers) == len(words) == len(most)
    if not good or any(not 1 <= n <= end for n, end in zip(numbers, most, strict=True)):
        sides = "width x height" if len(most) == 2 else "width x height x frames"
        raise UsageError(
            f"{what} {str(text)[:40]!r}",
            "is not a size",
            expected=f"{example} ({sides}, each up to {most[0]:,})",
        )
    return numbers


def _milliseconds(text: object) -> int:
    """Of ``30s``, ``2.5``, ``1m30s`` or ``500ms``."""
    match = re.fullmatch(
        r"(?:(\d{1,4})m(?:in)?)?(?:(\d{1,6}(?:\.\d{1,3})?)s?)?|(\d{1,9})ms",
        str(text).lower().replace(" ", ""),
    )
    count = 0
    if match is not None and match[3]:
        count = int(match[3])
    elif match is not None:
        count = int(match[1] or 0) * 60_000 + int(Decimal(match[2] or 0) * 1000)
    if not 1 <= count <= MAX_SECONDS * 1000:
        raise UsageError(
            f"audio {str(text)[:40]!r}",
            "is not a length",
            expected="30s, 2.5s or 1m30s, at most a day",
        )
    return count
