"""JSON: the documented form of a result."""

import json
from typing import Any


def render(result: dict[str, Any]) -> str:
    """Indented JSON without NaN, keys in documented order.

    ASCII only: foreign names keep every character, and none of them reaches a terminal raw.
    """
    return json.dumps(result, indent=2, allow_nan=False)
