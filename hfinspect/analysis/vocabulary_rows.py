"""How many ids a model has room for: rows of its table of embeddings and of its head."""

from collections.abc import Mapping
from typing import Final

from ..core.components import Role
from ..core.results import Inspection
from ..core.tensor import TensorInfo

_FLOATS: Final = ("F32", "F16", "BF16")
_EMBEDDINGS: Final = tuple(
    """.embed_tokens.weight .wte.weight .word_embeddings.weight .tok_embeddings.weight
    .embed_in.weight .token_embd.weight""".split()
)
#: What a GGUF file calls the table of embeddings, and the head of a language model.
GGUF_EMBEDDING: Final = "token_embd.weight"
_GGUF_HEAD: Final = "output.weight"


def config_number(config: Mapping[str, object] | None, *keys: str) -> int | None:
    """The first of the keys that is a positive whole number, at the top or under text_config."""
    if config is None:
        return None
    inner = config.get("text_config")
    for place in (config, inner if isinstance(inner, dict) else {}):
        for key in keys:
            value = place.get(key)
            if type(value) is int and value > 0:
                return value
    return None


def vocab_size(config: Mapping[str, object] | None) -> int | None:
    """The config's vocab_size (ChatGLM: padded_vocab_size), also where it is nested; None where it
    has none."""
    return config_number(config, "vocab_size", "padded_vocab_size")


def token_embedding(inspection: Inspection) -> TensorInfo | None:
    """The table of token embeddings: by its label, else by the names that most models use."""
    for info in inspection.tensors:
        if info.kind == "token" and info.part == "text" and len(info.shape) == 2:
            return info
    for info in inspection.tensors:
        known = info.name.endswith(_EMBEDDINGS) or f".{info.name}".endswith(_EMBEDDINGS)
        if known and len(info.shape) == 2 and info.part == "text":
            return info
    return None


def embedding_rows(
    inspection: Inspection | None, config: Mapping[str, object] | None, config_path: str
) -> tuple[int, str] | None:
    """How many ids the model has room for, and who says so."""
    info = token_embedding(inspection) if inspection is not None else None
    declared = vocab_size(config)
    if inspection is not None and info is not None and _is_plain(inspection, info):
        stored = inspection.source != "config" and declared == info.shape[0]
        if declared is None or stored:
            return info.shape[0], f"rows of {info.name}"
    return None if declared is None else (declared, f"vocab_size of {config_path}")


def _is_plain(inspection: Inspection | None, info: TensorInfo) -> bool:
    """Whether a shape is that of the parameter: predicted ones and GGUF's are, packed ones not."""
    if info.role is not Role.PARAMETER:
        return False
    if inspection is not None and (inspection.source == "config" or inspection.format == "gguf"):
        return True
    return info.dtype in _FLOATS


def head_rows(inspection: Inspection | None) -> int | None:
    """Rows of an output head of its own that scores each token; None where it has none."""
    for info in inspection.tensors if inspection is not None else ():
        is_called = info.kind == "lm_head" or info.name == _GGUF_HEAD
        is_head = is_called and info.part == "text" and len(info.shape) == 2
        if is_head and _is_plain(inspection, info):
            return info.shape[0]
    return None
