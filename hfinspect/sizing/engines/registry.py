"""The engines by name. A new one is a file next to this, and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ...core.choices import ENGINES as NAMES
from ...core.choices import checked
from .interface import Engine
from .llama_cpp import LlamaCpp
from .logical import Logical
from .sglang import Sglang
from .transformers import Transformers, TransformersStatic
from .vllm import Vllm

#: What is taken where nobody names an engine.
LOGICAL: Final[Engine] = Logical()

ENGINES: Final[Mapping[str, Engine]] = MappingProxyType(
    {
        engine.name: engine
        for engine in (
            LOGICAL,
            Transformers(),
            TransformersStatic(),
            Vllm(),
            Sglang(),
            LlamaCpp(),
        )
    }
)

#: The engine whose own files GGUF files are, whichever engine was named.
OF_GGUF: Final[Engine] = ENGINES[LlamaCpp.name]


def find_engine(name: str, step_tokens: int | None = None) -> Engine:
    """The engine of this name, with steps of so many tokens where they are named.

    Raises UsageError for a name that is none, and for steps that the engine does not take.
    """
    engine = ENGINES[checked("engine", name.lower(), NAMES)]
    stepping = [known.name for known in ENGINES.values() if known.default_step is not None]
    return engine.with_step(step_tokens, stepping)
