"""What vLLM and SGLang share: an indexer's keys in float8, and where a config names its states."""

from collections.abc import Mapping
from typing import Any, Final

#: An indexer's values that share a float32 scale; its keys are in float8 in any case.
_BLOCK: Final = 128


def indexer_bytes(elements: int, rows: int) -> int:
    """Bytes of the rows of an indexer: one each value, and a float32 scale for 128 of them."""
    return rows * (elements + -(-elements // _BLOCK) * 4)


def own_section(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The section of a config that describes its text model, or all of it."""
    entire = config or {}
    text = entire.get("text_config")
    return text if isinstance(text, Mapping) else entire
