"""How many examples a property test has: a multiple of the profile's number.

The default suite has forty where a test says nothing, ``--hypothesis-profile=long`` three hundred.
"""

from __future__ import annotations

from hypothesis import settings


def examples(usual: int) -> int:
    """As many as ``usual`` is of the hundred that a test has which says nothing."""
    return max(1, usual * settings().max_examples // 100)
