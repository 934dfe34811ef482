"""What config classes have where a config says nothing: numbers, mostly.

``architectures/config_defaults.json`` has a row for each config class of a written family, by its
``model_type``; one of a section, or of a class without a type of its own, by the family's file.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

from ..core import data_files

ROOM = "hfinspect.architectures"


@cache
def rows() -> dict[str, dict[str, Any]]:
    """The whole table."""
    return data_files.read(ROOM, "config_defaults.json")


def config_defaults(name: str) -> dict[str, Any]:
    """The row of this name, the caller's own."""
    return deepcopy(rows()[name])
