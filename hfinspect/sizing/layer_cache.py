"""What one layer keeps between tokens, from its blocks.

A block that makes the tensors says it with ``Module(..., cache=...)``. Where a block says nothing,
its projections do: attention keeps what its key and value projections give, one row a token, so
``rows(key) + rows(value)``; of a fused projection that is what remains after the queries, which are
as wide as the output projection's input. The sizes are Dims, so that each sum explains itself.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ..core.components import Component
from ..trees.cache_layout import CacheItem, KeysValues, State
from ..trees.modules import Module, ModuleList, Parameter

#: Attributes under which models keep the attention to an encoder's tokens.
CROSS: Final = frozenset(
    """encoder_attn crossattention cross_attn EncDecAttention cross_attention
    encoder_decoder_attention multihead_attn""".split()
)


def layer_cache(layer: Module, *, cross: bool = False) -> Iterator[CacheItem]:
    """What one layer keeps, its blocks in order."""
    cache: tuple[CacheItem, ...] | None = layer.cache
    if cache is None:
        items = _projected(layer, cross)
        cache = None if items is None else (items,)
    if cache is not None:
        for item in cache:
            yield replace(item, cross=cross or item.cross) if isinstance(item, KeysValues) else item
        says = any(isinstance(item, State) and item.name.startswith("conv") for item in cache)
        yield from _inner(layer, convolutions=not says)
        return
    yield from _convolved(layer, deep=False)
    for name, child in layer.children.items():
        if isinstance(child, Module) and not (isinstance(child, ModuleList) and child.kind):
            yield from layer_cache(child, cross=cross or name in CROSS)


def _inner(block: Module, *, convolutions: bool) -> Iterator[CacheItem]:
    """What parts of an attention or a mixer keep: convolutions, an indexer."""
    if convolutions:
        yield from _convolved(block)
    for child in block.children.values():
        if isinstance(child, Module) and child.kind == "indexer" and child.cache is not None:
            yield from child.cache


def _convolved(block: Module, *, deep: bool = True) -> Iterator[State]:
    """The last inputs of each causal convolution over time: one filter a channel, depthwise."""
    for child in block.children.values():
        if not isinstance(child, Module):
            continue
        weight = child.children.get("weight")
        if child.cache is not None:
            if deep:
                yield from (item for item in child.cache if isinstance(item, State))
        elif child.class_name == "Conv1d" and isinstance(weight, Parameter):
            if weight.shape[1] == 1:
                yield State("conv", (weight.shape[0], weight.shape[2]))
        elif deep:
            yield from _convolved(child)


def _projected(block: Module, cross: bool) -> KeysValues | None:
    """Keys and values by the block's own projections; None for a block that is no attention."""
    if block.component not in (Component.ATTENTION, None):
        return None
    rows: dict[str, int] = {}
    inputs: dict[str, int] = {}
    for child in block.children.values():
        weight = child.children.get("weight") if isinstance(child, Module) else None
        kind = child.kind or (weight.kind if isinstance(weight, Parameter) else None)
        if isinstance(child, Module) and isinstance(weight, Parameter) and kind:
            out, into = weight.shape[:2] if len(weight.shape) > 1 else (weight.shape[0], 0)
            if child.class_name == "Conv1D":
                out, into = into, out
            rows[kind] = rows[kind] + out if kind in rows else out
            inputs[kind] = into
    if "key" in rows and "value" in rows:
        return KeysValues(rows["key"], rows["value"], cross=cross)
    if "key_value" in rows:
        half = rows["key_value"] // 2
        return KeysValues(half, half, cross=cross)
    if "qkv" in rows and "output" in inputs:
        half = (rows["qkv"] - inputs["output"]) // 2
        return KeysValues(half, half, cross=cross)
    return None
