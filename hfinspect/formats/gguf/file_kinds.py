"""What a GGUF file is: a model, or one of the other things that llama.cpp keeps in GGUF.

Source: ``GGUFType`` in gguf-py/gguf/constants.py, ``general.type`` and the keys that
tools/imatrix, tools/cvector-generator and convert_lora_to_gguf.py of llama.cpp write.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

MODEL: Final = "model"
VOCABULARY: Final = "vocab"

#: Kind -> what it is, in words.
IN_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "adapter": "a LoRA adapter, which llama.cpp loads next to its base",
        "mmproj": "the encoders of pictures or sounds (mmproj), which llama.cpp loads next to a "
        "model",
        "imatrix": "an importance matrix, which llama.cpp's quantiser reads",
        "vocab": "a vocabulary without weights",
        "controlvector": "a control vector, which llama.cpp adds to the layers of a model",
    }
)
#: Keys that only one kind has -> that kind, of files without ``general.type``.
_BY_KEY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "imatrix.chunk_count": "imatrix",
        "imatrix.datasets": "imatrix",
        "adapter.type": "adapter",
        "controlvector.model_hint": "controlvector",
        "controlvector.layer_count": "controlvector",
    }
)
_BY_ARCHITECTURE: Final[Mapping[str, str]] = MappingProxyType(
    {"clip": "mmproj", "controlvector": "controlvector"}
)


def kind_of_file(metadata: Mapping[str, object]) -> str:
    """``general.type``, else what the keys show; ``model`` where nothing shows another."""
    declared = metadata.get("general.type")
    architecture = metadata.get("general.architecture")
    if architecture == "controlvector":
        return "controlvector"
    if isinstance(declared, str) and declared:
        return declared
    for key, kind in _BY_KEY.items():
        if key in metadata:
            return kind
    return _BY_ARCHITECTURE.get(architecture if isinstance(architecture, str) else "", MODEL)


def in_words(kind: str) -> str:
    """What a kind that is no model is."""
    return IN_WORDS.get(kind, f"of the type {kind[:40]!a}, no model")
