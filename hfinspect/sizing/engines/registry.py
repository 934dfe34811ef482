"""The engines by name. A new one is a file next to this, and a line here."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Final

from ...core.choices import ENGINES as NAMES
from ...core.choices import checked
from .interface import Engine
from .logical import Logical

#: What is taken where nobody names an engine.
LOGICAL: Final[Engine] = Logical()

#: The engine whose own files GGUF files are, whichever engine was named.
OF_GGUF: Final = "llama.cpp"

#: File and class of each. Each is imported at its first use: the first screen has none.
_CLASSES: Final = {
    "logical": ("logical", "Logical"),
    "transformers": ("transformers", "Transformers"),
    "transformers-static": ("transformers", "TransformersStatic"),
    "vllm": ("vllm", "Vllm"),
    "sglang": ("sglang", "Sglang"),
    OF_GGUF: ("llama_cpp", "LlamaCpp"),
}


@lru_cache(None)
def _engine(name: str) -> Engine:
    file, class_name = _CLASSES[name]
    engine: Engine = getattr(import_module(f".{file}", __package__), class_name)()
    return engine


class _Engines(Mapping[str, Engine]):
    def __getitem__(self, name: str) -> Engine:
        return _engine(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


ENGINES: Final[Mapping[str, Engine]] = _Engines()


def find_engine(name: str, step_tokens: int | None = None) -> Engine:
    """The engine of this name, with steps of so many tokens where they are named.

    Raises UsageError for a name that is none, and for steps that the engine does not take.
    """
    engine = ENGINES[checked("engine", name.lower(), NAMES)]
    if step_tokens is None:
        return engine
    stepping = [known.name for known in ENGINES.values() if known.default_step is not None]
    return engine.with_step(step_tokens, stepping)
