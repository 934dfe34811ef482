"""What a decoder keeps between tokens, layer by layer, read off the module tree, and its bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..core.dims import expr_of
from ..core.footprint import CacheGroup, CacheSize
from ..trees.keeps import Keeps, KeysValues, State, Unknown
from ..trees.modules import Layers, Module
from .engines import Engine, Settings, bytes_an_element, rows_held
from .kept import kept


@dataclass(frozen=True)
class KeptLayer:
    """One layer of the decoder: what it keeps, and how many tokens back it looks (None: all)."""

    keeps: tuple[Keeps, ...]
    window: int | None = None

    @property
    def keys_values(self) -> tuple[KeysValues, ...]:
        return tuple(item for item in self.keeps if isinstance(item, KeysValues))

    @property
    def states(self) -> tuple[State, ...]:
        return tuple(item for item in self.keeps if isinstance(item, State))


def kept_layers(root: Module) -> tuple[KeptLayer, ...]:
    """The layers of the model's decoder, in order; of an encoder-decoder those of the decoder.

    Cross-attention counts where the tree has the encoder whose tokens it keeps.
    """
    found: list[KeptLayer] = []
    both, stacks = _decoder_stacks(root)
    for layers in stacks:
        found += [*_of_stack(layers, cross=both)] * layers.passes
    return tuple(found)


def decoder_blocks(root: Module) -> tuple[Module, ...]:
    """The blocks of those layers, each once even where a token goes through them several times."""
    _, stacks = _decoder_stacks(root)
    return tuple(block for layers in stacks for block in _blocks(layers))


def decoder_stacks(root: Module) -> list[tuple[str, int]]:
    """Path of each list of the decoder's layers, and how many blocks it has."""
    _, chosen = _decoder_paths(root)
    return [(path, len(_blocks(layers))) for path, layers in chosen]


def _decoder_stacks(root: Module) -> tuple[bool, tuple[Layers, ...]]:
    """Whether an encoder stands next to it, and the lists of layers of the text's decoder."""
    both, chosen = _decoder_paths(root)
    return both, tuple(layers for _, layers in chosen)


def _decoder_paths(root: Module) -> tuple[bool, list[tuple[str, Layers]]]:
    stacks = list(_stacks(root, "", "text"))
    decoders = [i for i in stacks if "decoder" in i[0].split(".") and i[1] == "text"]
    both = bool(decoders) and any("encoder" in item[0].split(".") for item in stacks)
    chosen = decoders if both else stacks
    return both, [(path, layers) for path, part, layers in chosen if part == "text"]


def _of_stack(layers: Layers, *, cross: bool) -> Iterator[KeptLayer]:
    blocks = _blocks(layers)
    windows = layers.windows(len(blocks)) if layers.windows else [None] * len(blocks)
    seen: dict[int, tuple[Keeps, ...]] = {}
    for i, (block, window) in enumerate(zip(blocks, windows, strict=True)):
        if id(block) not in seen:
            seen[id(block)] = tuple(
                item for item in kept(block) if cross or not getattr(item, "cross", False)
            )
        reuses = i >= len(blocks) - layers.reused
        yield KeptLayer(() if reuses else seen[id(block)], window)


def _blocks(layers: Layers) -> list[Module]:
    return [
        block
        for block in layers.children.values()
        if isinstance(block, Module) and block.saved and block.kind != "mtp"
    ]


def _stacks(module: Module, path: str, part: str) -> Iterator[tuple[str, str, Layers]]:
    """The lists of layers with their paths and parts."""
    for name, child in module.children.items():
        if not isinstance(child, Module) or not child.saved or child.kind == "mtp":
            continue
        inner = child.part or part
        if isinstance(child, Layers):
            yield f"{path}{name}", inner, child
        else:
            yield from _stacks(child, f"{path}{name}.", inner)


def unknown_layouts(layers: Sequence[KeptLayer]) -> tuple[str, ...]:
    """Why the bytes of some layers are not known, each reason once; empty where all are."""
    reasons = [item.reason for layer in layers for item in layer.keeps if isinstance(item, Unknown)]
    return tuple(dict.fromkeys(reasons))


def cache_size(
    layers: Sequence[KeptLayer],
    engine: Engine,
    *,
    tokens: int,
    batch: int,
    dtype: str,
    encoder_tokens: int | None = None,
    settings: Settings | None = None,
    assumed: str = "",
) -> CacheSize:
    """Bytes that ``engine`` holds for ``batch`` sequences of ``tokens`` tokens.

    ``dtype`` is that of keys and values; states that a model keeps in float32 stay so.
    ``encoder_tokens`` (default: ``tokens``) are those of cross-attention.
    """
    chosen = settings or Settings()
    seen = tokens if encoder_tokens is None else encoder_tokens
    has_cross = any(item.cross for layer in layers for item in layer.keys_values)
    groups = _groups(layers, engine, tokens, seen, batch, dtype, chosen)
    kv = sum(group.nbytes for group in groups if group.rows)
    state = sum(group.nbytes for group in groups if not group.rows)
    cross = sum(group.nbytes for group in groups if group.rows and not group.grows)
    held = [layer.window for layer in layers if layer.window is not None and layer.keys_values]
    return CacheSize(
        engine=engine.name,
        version=engine.version,
        tokens=tokens,
        batch=batch,
        dtype=dtype,
        nbytes=kv + state,
        kv_bytes=kv,
        state_bytes=state,
        fixed=(state + cross) // batch,
        per_token=_growth(layers, dtype, tokens),
        per_token_first=_growth(layers, dtype, 0),
        knee=max(held) - 1 if held else None,
        layers=tuple(groups),
        encoder_tokens=seen if has_cross else None,
        assumed=assumed,
    )


def _growth(layers: Sequence[KeptLayer], dtype: str, tokens: int) -> int:
    """Bytes that one more token adds to a sequence of ``tokens``: windows that are full do not
    grow. Where an engine holds blocks, it is the mean over a block."""
    grown = sum(
        int(item.key) + int(item.value)
        for layer in layers
        if layer.window is None or tokens < layer.window - 1
        for item in layer.keys_values
        if not item.cross
    )
    return math.ceil(grown * bytes_an_element(dtype))


def _groups(
    layers: Sequence[KeptLayer], engine: Engine, tokens: int, seen: int, batch: int, dtype: str,
    settings: Settings,
) -> list[CacheGroup]:  # fmt: skip
    """What layers keep, equal ones together, in order of their first layer."""
    counted: dict[tuple[Keeps, int | None], int] = {}
    for layer in layers:
        for item in layer.keeps:
            key = (item, layer.window if isinstance(item, KeysValues) else None)
            counted[key] = counted.get(key, 0) + 1
    found = []
    for (item, window), count in counted.items():
        if isinstance(item, KeysValues):
            rows = batch * seen if item.cross else rows_held(
                engine, window, tokens, batch, settings
            )  # fmt: skip
            times = item.repeated if engine.name.startswith("transformers") else 1
            elements = (int(item.key) + int(item.value)) * count * times
            kept_in = item.dtype or dtype
            nbytes = math.ceil(elements * rows * bytes_an_element(kept_in))
            found.append(
                CacheGroup(
                    _label(item), count, elements, kept_in, grows=not item.cross, window=window,
                    rows=rows, nbytes=nbytes, formula=_formula(item, count),
                )
            )  # fmt: skip
        elif isinstance(item, State):
            found.append(_of_state(item, count, engine, batch, dtype))
    return found


def _of_state(item: State, count: int, engine: Engine, batch: int, dtype: str) -> CacheGroup:
    shape = list(item.shape)
    if item.name == "conv":
        shape[-1] -= engine.kernel_less
    elements = math.prod(int(size) for size in shape) * count
    kept_in = engine.state_dtype or item.dtype or dtype
    nbytes = Fraction(batch * elements) * bytes_an_element(kept_in)
    formula = " × ".join([str(count), *(str(expr_of(size)) for size in shape)])
    label = "convolution state" if item.name == "conv" else f"{item.name} state"
    return CacheGroup(
        label, count, elements, kept_in, grows=False, rows=0, nbytes=math.ceil(nbytes),
        formula=formula,
    )  # fmt: skip


def _label(item: KeysValues) -> str:
    if item.name:
        return f"{item.name} keys"
    if item.latent:
        return "latent"
    return "keys and values of the encoder" if item.cross else "keys and values"


def _formula(item: KeysValues, count: int) -> str:
    both = [str(expr_of(size)) for size in (item.key, item.value) if size]
    if len(both) == 2 and both[0] == both[1]:
        return f"{count} × 2 × {both[0]}"
    return f"{count} × ({' + '.join(both)})"
