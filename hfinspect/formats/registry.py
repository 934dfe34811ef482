"""Checkpoint formats by name, imported when first used."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import cast

from .base import HeaderFormat

#: Format name -> module that holds it as ``FORMAT``. In the order in which ``auto`` prefers them:
#: safetensors says most in the fewest bytes, pickles come next, GGUF is usually a conversion.
MODULES: Mapping[str, str] = MappingProxyType(
    {
        "safetensors": "hfinspect.formats.safetensors.safetensors",
        "torch": "hfinspect.formats.torch.torch",
        "gguf": "hfinspect.formats.gguf.gguf",
    }
)


def get_format(name: str) -> HeaderFormat:
    """The reader of a format; KeyError for a name that is not registered."""
    return cast("HeaderFormat", import_module(MODULES[name]).FORMAT)
