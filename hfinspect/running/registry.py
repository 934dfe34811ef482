"""The engines by name. A new one is a file next to this, and a line here."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ..core.choices import LOADERS as NAMES
from ..core.choices import checked
from .llama_cpp_loading import LlamaCppLoader
from .loader import Loader
from .mlx_lm import MlxLm
from .onnx_export import OnnxExport
from .sglang_loading import SglangLoader
from .tensorrt_llm import TensorRtLlm
from .transformers_loading import TransformersLoader
from .vllm_loading import VllmLoader

LOADERS: Final[Mapping[str, Loader]] = MappingProxyType(
    {
        loader.name: loader
        for loader in (
            TransformersLoader(),
            VllmLoader(),
            SglangLoader(),
            LlamaCppLoader(),
            MlxLm(),
            OnnxExport(),
            TensorRtLlm(),
        )
    }
)


def find_loaders(requested: str | Sequence[str] | None) -> list[Loader]:
    """The engines of these names (``"vllm,sglang"``), all without one. Raises UsageError."""
    if requested is None:
        return list(LOADERS.values())
    words = requested.split(",") if isinstance(requested, str) else requested
    names = [checked("engine", word.strip().lower(), NAMES) for word in words]
    return [LOADERS[name] for name in dict.fromkeys(names)]
