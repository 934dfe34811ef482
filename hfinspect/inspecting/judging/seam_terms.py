"""What a seam between two parts is made of: sizes, and sums of them."""

from __future__ import annotations

from typing import NamedTuple


class SeamTerm(NamedTuple):
    """A size of a part, taken ``factor`` times: ``4 x latent channels of the vae``.

    ``size`` is a key of the part's config, or one of the names of ``part_sizes``.
    """

    part: str
    size: str
    factor: int = 1


class Way(NamedTuple):
    """One value that a size may have: the sum of the terms, and ``plus`` of its own."""

    terms: tuple[SeamTerm, ...]
    plus: int = 0


class Seam(NamedTuple):
    """``size`` of ``part`` has to be one of the ``ways``.

    ``of_declared``: terms of parts that the pipeline leaves out do not count; without it such a
    way says nothing.
    """

    part: str
    size: str
    ways: tuple[Way, ...]
    of_declared: bool = False
