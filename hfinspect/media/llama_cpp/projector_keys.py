"""The keys of an mmproj file that say how its projector counts, each checked as it is read, and
C's numbers of single precision."""

import math
from collections.abc import Mapping, Set
from struct import pack, unpack
from typing import Final

from ..processor_settings import MAX_PINPOINTS, UnknownTokensError

#: llama.cpp's own limits of ``clip.vision.image_size`` and ``patch_size``.
MAX_IMAGE_SIZE: Final = 8_192
MAX_PATCH: Final = 65_535
#: Its sizes are signed numbers of 32 bits.
MAX_PIXELS: Final = 2**31 - 1


class ProjectorKeys:
    """Of one encoder, ``vision`` or ``audio``; ``tensors`` are the names of all tensors."""

    def __init__(self, sense: str, metadata: Mapping[str, object], tensors: Set[str]) -> None:
        self.sense = sense
        self.tensors = tensors
        self._metadata = metadata

    @property
    def projector(self) -> str:
        """Its type; one of older files stands for two encoders, each with its own."""
        kind = self._metadata.get("clip.projector_type") or self._metadata.get(
            f"clip.{self.sense}.projector_type"
        )
        both = {"vision": "qwen2.5vl_merger", "audio": "qwen2a"}
        return both[self.sense] if kind == "qwen2.5o" else str(kind or "")[:40]

    def count(
        self, key: str, default: int | None = None, *, least: int = 1, most: int = MAX_PIXELS
    ) -> int:
        """A whole number. Raises UnknownTokensError."""
        name = key if key.startswith("clip.") else f"clip.{self.sense}.{key}"
        number = self._metadata.get(name, default)
        if type(number) is not int or not least <= number <= most:
            state = "is not there" if number is None else f"is not from {least:,} to {most:,}"
            raise UnknownTokensError(f"{name} of the mmproj file {state}")
        return number

    @property
    def side(self) -> int:
        return self.count("image_size", most=MAX_IMAGE_SIZE)

    @property
    def patch(self) -> int:
        return self.count("patch_size", most=MAX_PATCH)

    def pinpoints(self) -> list[tuple[int, int]]:
        """(width, height) of each listed resolution; none where the key is not there."""
        numbers = self._metadata.get("clip.vision.image_grid_pinpoints", ())
        if (
            not isinstance(numbers, list | tuple)
            or len(numbers) > 2 * MAX_PINPOINTS
            or len(numbers) % 2
            or any(type(one) is not int or not 0 < one < 65_536 for one in numbers)
        ):
            raise UnknownTokensError("clip.vision.image_grid_pinpoints is not a list of sizes")
        return list(zip(numbers[::2], numbers[1::2], strict=True))


def single(number: float) -> float:
    """As a float of 32 bits."""
    value: float = unpack("<f", pack("<f", number))[0]
    return value


def divided(number: float, by: float) -> float:
    return single(single(number) / single(by))


def times(number: float, by: float) -> float:
    return single(single(number) * single(by))


def root(number: float) -> float:
    return single(math.sqrt(single(number)))


def rounded(number: float) -> int:
    """Halves away from zero, as C rounds them."""
    return math.floor(number + 0.5)
