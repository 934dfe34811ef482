"""Numbers of a GGUF file's key-values, read as strictly as llama.cpp's loader reads them.

Source: ``get_key``, ``get_arr`` and ``get_key_or_arr`` in src/llama-model-loader.cpp of llama.cpp.
"""

from collections.abc import Mapping
from typing import Final

#: ``LLAMA_MAX_LAYERS`` in src/llama-hparams.h.
MAX_LAYERS: Final = 512
_U32: Final = 2**32


class UnreadableKeyError(Exception):
    """A key-value that llama.cpp would refuse; the text names the key. Never leaves this folder."""


class KeyNumbers:
    """The key-values of one architecture; keys are named without their prefix."""

    def __init__(self, metadata: Mapping[str, object], architecture: str) -> None:
        self._metadata = metadata
        self._prefix = f"{architecture}."

    def full(self, key: str) -> str:
        return f"{self._prefix}{key}"

    def has(self, key: str) -> bool:
        return self.full(key) in self._metadata

    def number(self, key: str, default: int | None = None) -> int:
        """A uint32; ``default`` where there is none. Raises UnreadableKeyError."""
        if not self.has(key):
            if default is None:
                raise UnreadableKeyError(f"the key-values have no {self.full(key)}")
            return default
        return self._u32(key, self._metadata[self.full(key)])

    def per_layer(self, key: str, layers: int, default: list[int] | None = None) -> list[int]:
        """One number for each layer, from a list as long or from one number."""
        value = self._metadata.get(self.full(key))
        if value is None:
            if default is None:
                raise UnreadableKeyError(f"the key-values have no {self.full(key)}")
            return list(default)
        if not _is_array(value):
            return [self._u32(key, value)] * layers
        items = self._items(key, value)
        if len(items) != layers:
            raise UnreadableKeyError(f"{self.full(key)} has {len(items)} items for {layers} layers")
        return items

    def array(self, key: str) -> list[int] | None:
        """The items of a list; None where the key is missing or holds one number."""
        value = self._metadata.get(self.full(key))
        return self._items(key, value) if _is_array(value) else None

    def required_array(self, key: str) -> list[int]:
        items = self.array(key)
        if items is None:
            raise UnreadableKeyError(f"the key-values have no list {self.full(key)}")
        return items

    def _items(self, key: str, value: object) -> list[int]:
        if not isinstance(value, list) or len(value) > MAX_LAYERS:
            raise UnreadableKeyError(f"{self.full(key)} has more than {MAX_LAYERS} items")
        return [int(item) if type(item) is bool else self._u32(key, item) for item in value]

    def _u32(self, key: str, value: object) -> int:
        if type(value) is not int or not 0 <= value < _U32:
            raise UnreadableKeyError(f"{self.full(key)} is not a number of 32 bits")
        return value


def _is_array(value: object) -> bool:
    """A list, or what is kept of one that is too long."""
    return isinstance(value, (list, Mapping))
