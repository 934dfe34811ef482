"""Images, videos and sounds in a prompt: what was asked, and how many tokens each takes."""

from __future__ import annotations

from typing import Final

from .json_form import JsonForm
from .records import dataclass

#: Pixels. No camera has longer sides: they are typing errors, and they bound loops over patches.
MAX_SIDE: Final = 65_536
#: Some 18 minutes at 60 frames a second; no processor takes more, and frames are looped over.
MAX_FRAMES: Final = 65_536
#: A day. Longer sounds are typing errors, and their windows are looped over.
MAX_SECONDS: Final = 86_400
#: Of one kind in a prompt: more than any context holds.
MAX_ITEMS: Final = 4_096


@dataclass(frozen=True)
class ImageItem:
    """An image of ``width`` by ``height`` pixels; ``several``: one of several in a prompt, which
    LLaVA-OneVision does not cut."""

    width: int
    height: int
    several: bool = False

    kind = "image"

    @property
    def label(self) -> str:
        return f"{self.width:,} x {self.height:,}"


@dataclass(frozen=True)
class VideoItem:
    """A video of ``width`` by ``height`` pixels, of which ``frames`` frames reach the model."""

    width: int
    height: int
    frames: int

    kind = "video"

    @property
    def label(self) -> str:
        return f"{self.width:,} x {self.height:,}, {self.frames:,} frames"


@dataclass(frozen=True)
class AudioItem:
    """A sound of so many seconds, in thousandths, as a float is not exact."""

    milliseconds: int

    kind = "audio"

    @property
    def label(self) -> str:
        return f"{self.milliseconds / 1000:g} s"


MediaItem = ImageItem | VideoItem | AudioItem

#: What a first screen counts.
USUAL: Final[tuple[ImageItem | AudioItem, ...]] = (ImageItem(1024, 1024), AudioItem(30_000))
#: Why it does not count: another command reads these files.
NOT_READ: Final = "they follow from the processor's files, which this answer does not read"


@dataclass(frozen=True)
class MediaTokens(JsonForm):
    """What one item takes of the context and of the cache.

    Fields:
        kind: ``image``, ``video`` or ``audio``
        item: its size
        count [items]: that were named
        tokens [tokens]: of one item, in the text model's sequence; None where unknown
        cross_tokens [tokens]: of one item, that cross-attention keeps next to them (Llama 3.2
            Vision)
        cache_bytes [bytes]: of the cache of one item alone; None where unknown
        derivation: steps from the size to the tokens
        settings: where the processor's settings come from
        unknown: why ``tokens`` is None; empty where they are known
    """

    kind: str
    item: str
    count: int
    tokens: int | None
    cross_tokens: int = 0
    cache_bytes: int | None = None
    derivation: tuple[str, ...] = ()
    settings: str = ""
    unknown: str = ""

    @property
    def all_tokens(self) -> int:
        """Of all items of this size in the text model's sequence; 0 where unknown."""
        return (self.tokens or 0) * self.count
