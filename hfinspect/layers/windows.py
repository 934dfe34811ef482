"""How far back the attention of each layer looks: a window of tokens, or everything.

Source of the rule: ``get_layer_types_and_kwargs`` in transformers/cache_utils.py, and the defaults
of each config class.
"""

from __future__ import annotations

from collections.abc import Callable

from ..trees import ModelConfig, WindowsOf

#: The words of ``layer_types`` that stand for a window.
WINDOWED = frozenset(
    {"sliding_attention", "chunked_attention", "hybrid_sliding", "local_attention", "attention_swa"}
)


def nowhere(layers: int) -> tuple[None, ...]:
    """No layer has a window."""
    return (None,) * layers


def everywhere(_index: int, _layers: int) -> bool:
    """Every layer has a window: none sees everything."""
    return False


def every(step: int, *, first: int | None = None, last: bool = False) -> Callable[[int, int], bool]:
    """Every ``step``-th layer sees everything: the last of each group, or those at ``first`` and a
    multiple of ``step`` further; with ``last``, the last of all layers too."""
    at = step - 1 if first is None else first

    def sees_all(index: int, layers: int) -> bool:
        return index % step == at or (last and index == layers - 1)

    return sees_all


def windows(
    c: ModelConfig,
    default: int | None,
    full: Callable[[int, int], bool] = everywhere,
    *,
    key: str = "sliding_window",
) -> WindowsOf:
    """``layer_types`` where the config has them, else the family's own pattern.

    ``default`` is the window of a config that has no ``key``; a key that is null means none.
    ``full(i, layers)`` says whether layer i sees everything by the config class's default.
    """
    written = key in c.values
    size = c.dim(key, default=0, minimum=0) if c.has(key) else None if written else default

    def of(layers: int) -> tuple[int | None, ...]:
        if not size:
            return (None,) * layers
        listed = c.raw("layer_types")
        if isinstance(listed, list) and len(listed) >= layers:  # more: layers of predicted tokens
            kinds = c.strings("layer_types")[:layers]
            return tuple(size if kind in WINDOWED else None for kind in kinds)
        return tuple(None if full(i, layers) else size for i in range(layers))

    return of


def switched_windows(c: ModelConfig, default: int, first: int) -> WindowsOf:
    """Qwen's: only with ``use_sliding_window``, in the layers from ``max_window_layers`` on."""
    if not c.flag("use_sliding_window", default=False):
        return nowhere
    start = int(c.count("max_window_layers", default=first))
    return windows(c, default, lambda i, _: i < start)
