"""Which architectures of llama.cpp have layers that look back over a window, and which layers.

Source: ``load_arch_hparams`` in src/models/*.cpp of llama.cpp 0.5.0 (in llama_cpp_python 0.3.36,
read in November 2026). An architecture that is not here has no window, whatever its key-values
say: mistral, mixtral, phi3, starcoder2, qwen2, qwen3, qwen3moe and smollm3 hold every token.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ...core.records import dataclass
from .key_numbers import KeyNumbers, UnreadableKeyError


@dataclass(frozen=True)
class WindowRule:
    """How an architecture's layers look back.

    ``every``: each so many-th layer sees everything, the last of them or, with ``first``, the
    first; 0 means that all layers have the window, None that the file lists them. ``size`` is that
    of a file without ``attention.sliding_window`` (None: the file must have it, 0: then there is
    no window). ``fixed`` replaces what the file says. ``only_with`` layers (EXAONE 4). ``written``
    is the key of config.json that the converter writes into the file as it stands, where the model
    itself counts otherwise (MiMo-V2-Flash: its class reads ``sliding_window_size`` + 1).
    """

    every: int | None
    first: bool = False
    size: int | None = 0
    fixed: int | None = None
    only_with: int | None = None
    written: str = ""


_LISTED: Final = WindowRule(None, size=None)

WINDOWS: Final[Mapping[str, WindowRule]] = MappingProxyType(
    {
        "afmoe": WindowRule(4),
        "cohere2": WindowRule(4, size=None),
        "cohere2moe": WindowRule(4, first=True, size=None),
        "deepseek4": WindowRule(0, size=None),
        "dots3note": _LISTED,
        "exaone-moe": WindowRule(4, size=None),
        "exaone4": WindowRule(4, size=4096, only_with=64),
        "gemma2": WindowRule(2, size=4096),
        "gemma3": WindowRule(6),
        "gemma3n": WindowRule(5, size=None),
        "gemma4": _LISTED,
        "gpt-oss": WindowRule(2, size=None),
        "granite_swa": _LISTED,
        "laguna": WindowRule(4, first=True),
        "lfm2": WindowRule(0),
        "llama4": WindowRule(4, size=8192, fixed=8192),
        "maple": _LISTED,
        "mellum": WindowRule(4),
        "mimo2": WindowRule(None, size=None, written="sliding_window"),  # conversion/mimo.py
        "muse-glimmer": WindowRule(4, size=None),
        "olmo2": WindowRule(4),
        "plamo3": WindowRule(8),
        "smallthinker": WindowRule(4, first=True, fixed=4096),
        "spark2_5": _LISTED,
        "step35": _LISTED,
    }
)

_SIZE = "attention.sliding_window"
_PATTERN = "attention.sliding_window_pattern"
#: Architectures for which a window of 0 means that there is none.
_ZERO_IS_NONE: Final = frozenset(
    "afmoe gemma3 laguna lfm2 llama4 mellum olmo2 plamo3 smallthinker".split()
)


def windowed_layers(
    architecture: str, keys: KeyNumbers, layers: int, trunk: int
) -> tuple[int, list[bool]]:
    """The window in tokens (0: none) and for each of ``layers`` whether it has it.

    ``trunk`` are the layers without those that predict further tokens (MTP). Raises
    UnreadableKeyError.
    """
    none = (0, [False] * layers)
    rule = WINDOWS.get(architecture)
    if rule is None or (rule.only_with is not None and rule.only_with != trunk):
        return none
    size = keys.number(_SIZE, rule.size)
    if size == 0 and architecture in _ZERO_IS_NONE:
        return none
    flags = _flags(rule, architecture, keys, layers, trunk)
    if not any(flags):
        raise UnreadableKeyError(f"{keys.full(_PATTERN)} names no layer with the window")
    return (size if rule.fixed is None else rule.fixed), flags


def _flags(
    rule: WindowRule, architecture: str, keys: KeyNumbers, layers: int, trunk: int
) -> list[bool]:
    if architecture in ("deepseek4", "lfm2"):
        return [True] * layers
    listed = keys.required_array(_PATTERN) if rule.every is None else keys.array(_PATTERN)
    if listed is not None:
        return [bool(item) for item in (listed + [0] * layers)[:layers]]
    every = keys.number(_PATTERN, rule.every)
    return [il < trunk and _has_window(il, every, first=rule.first) for il in range(layers)]


def _has_window(layer: int, every: int, *, first: bool) -> bool:
    """``llama_hparams::set_swa_pattern``."""
    if every == 0:
        return True
    return layer % every != 0 if first else layer % every < every - 1
