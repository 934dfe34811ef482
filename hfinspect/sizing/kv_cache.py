"""What a decoder keeps between tokens, layer by layer, read off the module tree, and its bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType

from ..core.cache_size import CacheGroup, CacheSize
from ..core.dims import expr_of
from ..core.records import dataclass
from ..errors import UsageError
from ..trees.keeps import Keeps, KeysValues, State, Unknown
from ..trees.modules import Layers, Module
from .engines import (
    Engine,
    Settings,
    bytes_of_rows,
    nbytes_of,
    not_held,
    row_elements,
    rows_held,
    window_full,
)
from .kept import kept


@dataclass(frozen=True)
class KeptLayer:
    """One layer of the decoder: what it keeps, and how many tokens back it looks (None: all).
    ``static``: transformers takes a StaticCache for it."""

    keeps: tuple[Keeps, ...]
    window: int | None = None
    static: bool = True

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


def encoder_blocks(root: Module) -> tuple[Module, ...]:
    """The blocks of the encoder of text next to the decoder; none where there is none."""
    both, _ = _decoder_paths(root)
    stacks = _stacks(root, "", "text") if both else ()
    return tuple(
        block
        for path, part, layers in stacks
        if part == "text" and _ends(path, "encoder")
        for block in _blocks(layers)
    )


def encodes_alone(root: Module) -> bool:
    """Whether all lists of layers are those of an encoder: an encoder-decoder's class without its
    decoder, as T5ForTokenClassification."""
    paths = [path for path, _, _ in _stacks(root, "", "text")]
    return bool(paths) and all(
        _ends(path, "encoder") and not _ends(path, "decoder") for path in paths
    )


def layer_count(root: Module) -> int:
    """The number of the decoder's layers, as a Dim where one config key says it."""
    _, chosen = _decoder_paths(root)
    counts = [(layers.count, len(_blocks(layers)) * layers.passes) for _, layers in chosen]
    if len(counts) == 1 and counts[0][0] is not None and counts[0][0] == counts[0][1]:
        return counts[0][0]
    return sum(found for _, found in counts)


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
    decoders = [i for i in stacks if _ends(i[0], "decoder") and i[1] == "text"]
    both = bool(decoders) and any(_ends(path, "encoder") for path, _, _ in stacks)
    chosen = decoders if both else stacks
    found = [(path, layers) for path, part, layers in chosen if part == "text"]
    if all(_ends(path, "encoder") for path, _ in found):  # a decoder of sound
        heard = [
            (path, layers)
            for path, part, layers in stacks
            if part == "audio" and not _ends(path, "encoder")
            if _ends(path, "decoder") or not found
            if any(kept(block) for block in _blocks(layers))
        ]
        if heard:
            return bool(found), heard
    # An encoder of proteins next to a decoder that is not called one keeps nothing.
    apart = [item for item in found if not _ends(item[0], "encoder")]
    return both, apart or found


def _ends(path: str, word: str) -> bool:
    """Whether a module of the path is named so: ``decoder``, ``text_decoder``."""
    return any(segment.endswith(word) for segment in path.split("."))


def kept_where(root: Module) -> Iterator[tuple[str, int, KeptLayer]]:
    """The same layers with the path of their list and the number that each has in it; one that a
    token goes through several times is there as often."""
    both, stacks = _decoder_paths(root)
    for path, layers in stacks:
        numbers = [int(name) for name in _named_blocks(layers)]
        for _ in range(layers.passes):
            for number, kept_layer in zip(numbers, _of_stack(layers, cross=both), strict=True):
                yield path, number, kept_layer


def _of_stack(layers: Layers, *, cross: bool) -> Iterator[KeptLayer]:
    static, layers = layers.static, layers.like or layers
    blocks = _blocks(layers)
    windows = layers.windows(len(blocks)) if layers.windows else [None] * len(blocks)
    seen: dict[int, tuple[Keeps, ...]] = {}
    for i, (block, window) in enumerate(zip(blocks, windows, strict=True)):
        if id(block) not in seen:
            seen[id(block)] = tuple(
                item for item in kept(block) if cross or not getattr(item, "cross", False)
            )
        reuses = i >= len(blocks) - layers.reused
        yield KeptLayer(() if reuses else seen[id(block)], window, static)


def _blocks(layers: Layers) -> list[Module]:
    return list(_named_blocks(layers).values())


def _named_blocks(layers: Layers) -> dict[str, Module]:
    return {
        name: block
        for name, block in layers.children.items()
        if isinstance(block, Module) and block.saved and block.kind != "mtp"
    }


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


def unknown_layouts(layers: Sequence[KeptLayer], engine: str = "logical") -> tuple[str, ...]:
    """Why the bytes of some layers are not known, each reason once; empty where all are."""
    reasons = [item.reason for layer in layers for item in layer.keeps if isinstance(item, Unknown)]
    shared = any(item.every > 1 for layer in layers for item in layer.keys_values)
    if shared and engine not in ("logical", "transformers"):
        reasons.append(
            "transformers 5.23 has no StaticCache of compressed keys"
            if engine == "transformers-static"
            else f"how {engine} holds compressed keys is not known here"
        )
    if engine not in ("logical", "transformers") and any(
        item.prompt for layer in layers for item in layer.keys_values
    ):
        reasons.append(f"how {engine} holds a prompt apart from what follows is not known here")
    if engine == "transformers-static" and not all(layer.static for layer in layers):
        reasons.append(
            "transformers 5.23 fills no StaticCache for it: it keeps a cache of its own, or fails"
        )
    return tuple(dict.fromkeys(reasons))


#: Names of states where they are not their own.
_STATES = MappingProxyType({"conv": "convolution state", "padding": "padding to pages"})
#: Tokens that a block of latents is a multiple of next to states in vLLM.
_LATENT_STEP = 128


@dataclass(frozen=True)
class Held:
    """How much of what layers keep is to be sized, and in which dtypes.

    ``dtype`` is that of keys and values, ``state_dtype`` that of states which the model does not
    fix (None: ``dtype``), ``recurrent_dtype`` that of recurrent states that the model keeps in
    float32 and the engine does not (None: it does too). ``encoder_tokens`` (None: as many as
    ``tokens``) are those of cross-attention. ``heads`` are the key/value heads where a layer does
    not say its own.
    """

    tokens: int
    batch: int
    dtype: str
    state_dtype: str | None = None
    recurrent_dtype: str | None = None
    encoder_tokens: int | None = None
    settings: Settings = field(default_factory=Settings)
    heads: int | None = None

    @property
    def seen(self) -> int:
        return self.tokens if self.encoder_tokens is None else self.encoder_tokens


def cache_size(
    layers: Sequence[KeptLayer], engine: Engine, held: Held, *, assumed: str = ""
) -> CacheSize:
    """Bytes that ``engine`` holds of these layers. ``assumed`` says why this dtype.

    Raises UsageError for a dtype that cannot hold what the layers keep.
    """
    for item in (item for layer in layers for item in layer.keys_values):
        reason = not_held(item, held.dtype)
        if reason:
            raise UsageError(f"cache dtype {held.dtype}", "does not fit the model", hint=reason)
    layers, engine = in_pages(layers, engine, held)
    groups = _groups(layers, engine, held)
    kv = sum(group.nbytes for group in groups if group.rows)
    state = sum(group.nbytes for group in groups if not group.rows)
    cross = sum(group.nbytes for group in groups if group.rows and not group.grows)
    rows = [item for layer in layers for item in layer.keys_values]
    prompts = sum(
        bytes_of_rows(item, int(item.before), held.dtype, engine, held.heads)
        for item in rows
        if item.before
    )
    apart = sum(
        bytes_of_rows(item, _rows(item, None, engine, held), held.dtype, engine, held.heads)
        for item in rows
        if item.prompt
    )
    has_cross = any(item.cross for item in rows)
    growing = [item for item in layers if any(not one.cross for one in item.keys_values)]
    full = {
        window_full(engine, item.window, held.batch, held.settings)
        for item in growing
        if item.window is not None
    }
    first = _growth(growing, engine, held, 0)
    return CacheSize(
        engine=engine.name,
        version=engine.version,
        tokens=held.tokens,
        batch=held.batch,
        dtype=held.dtype,
        nbytes=kv + state,
        kv_bytes=kv - apart,
        state_bytes=state + apart,
        fixed=(state + cross) // held.batch + prompts,
        per_token=_growth(growing, engine, held, held.tokens),
        per_token_first=first,
        knee=max(full) if full else None,
        layers=tuple(groups),
        encoder_tokens=held.seen if has_cross else None,
        assumed=assumed,
        notes=tuple(_notes(layers, engine, held, first)),
    )


def _growth(layers: Sequence[KeptLayer], engine: Engine, held: Held, tokens: int) -> int:
    """Bytes that one more token adds to a sequence of ``tokens``: windows that are full do not
    grow. Where an engine holds blocks, or tokens share a row, it is the mean over them."""
    return sum(
        bytes_of_rows(item, 1, held.dtype, engine, held.heads) // item.every
        for layer in layers
        for item in layer.keys_values
        if not item.cross
        and item.of == "groups"
        and (
            layer.window is None
            or item.every > 1
            or tokens < window_full(engine, layer.window, held.batch, held.settings)
        )
    )


def _notes(
    layers: Sequence[KeptLayer], engine: Engine, held: Held, first: int
) -> Iterator[str]:  # fmt: skip
    """What is easily misread in the engine's own words."""
    windows = sorted({layer.window for layer in layers if layer.window and layer.keys_values})
    if windows and engine.name == "vllm":
        yield (
            f"vLLM's line 'GPU KV cache size' counts every layer in full, {first:,} bytes a token; "
            f"a windowed layer reserves blocks for its window and one step of "
            f"{held.settings.batched_tokens:,} tokens"
        )
    if windows and engine.name == "llama.cpp":
        yield (
            f"windowed layers hold {held.batch} × {windows[-1]:,} + {held.settings.ubatch:,} cells "
            "in steps of 256, for all sequences together, and at most the context"
        )
    if engine.static:
        yield "a StaticCache is this large from the first token on"
    repeats = any(item.repeated > 1 for layer in layers for item in layer.keys_values)
    if repeats and engine.name.startswith("transformers"):
        yield "transformers broadcasts keys and values to all query heads before keeping them"


def _groups(layers: Sequence[KeptLayer], engine: Engine, held: Held) -> list[CacheGroup]:
    """What layers keep, equal ones together, in order of their first layer."""
    found = []
    for (item, window), count in counted_keeps(layers).items():
        if isinstance(item, KeysValues):
            found.append(_of_rows(item, window, count, engine, held))
        elif isinstance(item, State):
            found.append(_of_state(item, count, engine, held))
    return found


def counted_keeps(layers: Sequence[KeptLayer]) -> dict[tuple[Keeps, int | None], int]:
    """What layers keep, with its window, and how many layers do."""
    counted: dict[tuple[Keeps, int | None], int] = {}
    for layer in layers:
        for item in layer.keeps:
            windowed = isinstance(item, KeysValues) and item.every == 1
            key = (item, layer.window if windowed else None)
            counted[key] = counted.get(key, 0) + 1
    return counted


def bytes_held(counted: Mapping[tuple[Keeps, int | None], int], engine: Engine, held: Held) -> int:
    """``cache_size(...).nbytes`` of layers that were counted before: for many contexts at once."""
    total = 0
    for (item, window), count in counted.items():
        if isinstance(item, KeysValues):
            rows = _rows(item, window, engine, held)
            total += bytes_of_rows(item, rows * count, held.dtype, engine, held.heads)
        elif isinstance(item, State):
            total += _of_state(item, count, engine, held).nbytes
    return total


def _rows(item: KeysValues, window: int | None, engine: Engine, held: Held) -> int:
    if item.cross:
        return held.batch * held.seen
    if item.every > 1:
        return held.batch * item.rows_of_groups(held.tokens)
    return rows_held(engine, window, held.tokens + int(item.before), held.batch, held.settings)


def in_pages(
    layers: Sequence[KeptLayer], engine: Engine, held: Held
) -> tuple[Sequence[KeptLayer], Engine]:
    """vLLM gives states pages as large as those of attention: the block grows until a page holds a
    layer's states, and what is left of the page is padding, which the layers returned keep too.
    Layers that are in pages stay as they are, and so do those of other engines.

    Source: ``Platform`` in platforms/interface.py, with mamba_cache_mode ``none``."""
    rows = (
        item
        for layer in layers
        if layer.window is None
        for item in layer.keys_values
        if not item.cross
    )
    row = next(rows, None)
    if engine.name != "vllm" or row is None or not any(layer.states for layer in layers):
        return layers, engine
    alone = replace(held, batch=1)
    sizes = {
        layer: sum(_of_state(item, 1, engine, alone).nbytes for item in layer.states)
        for layer in set(layers)
    }
    per_token = bytes_of_rows(row, 1, held.dtype, engine, held.heads)
    step = max(engine.cells, _LATENT_STEP) if row.latent else engine.cells
    block = step * -(-max(sizes.values()) // (step * per_token))
    made = {
        layer: replace(
            layer, keeps=(*layer.keeps, State("padding", (block * per_token - size,), "U8"))
        )
        if size and size < block * per_token
        else layer
        for layer, size in sizes.items()
    }
    return tuple(made[layer] for layer in layers), replace(engine, cells=block)


def _of_rows(
    item: KeysValues, window: int | None, count: int, engine: Engine, held: Held
) -> CacheGroup:
    rows = _rows(item, window, engine, held)
    return CacheGroup(
        _label(item),
        count,
        row_elements(item, engine) * count,
        item.dtype or held.dtype,
        grows=not item.cross,
        window=window,
        rows=rows,
        nbytes=bytes_of_rows(item, rows * count, held.dtype, engine, held.heads),
        formula=_formula(item, count),
    )


def _of_state(item: State, count: int, engine: Engine, held: Held) -> CacheGroup:
    shape = list(item.shape)
    if item.name == "conv":
        shape[-1] -= engine.kernel_less
    elements = math.prod(int(size) for size in shape) * count
    kept_in = engine.state_dtype or item.dtype or held.state_dtype or held.dtype
    if item.name == "recurrent" and item.dtype and held.recurrent_dtype:
        kept_in = held.recurrent_dtype
    return CacheGroup(
        _STATES.get(item.name, f"{item.name} state"),
        count,
        elements,
        kept_in,
        grows=False,
        rows=0,
        nbytes=nbytes_of(held.batch * elements, kept_in),
        formula=" × ".join([str(count), *(str(expr_of(size)) for size in shape)]),
    )


def _label(item: KeysValues) -> str:
    if item.every > 1:
        return item.name
    if item.name:
        return f"{item.name} keys"
    if item.latent:
        return "latent"
    if item.prompt:
        return "keys and values of the prompt"
    return "keys and values of the encoder" if item.cross else "keys and values"


def _formula(item: KeysValues, count: int) -> str:
    both = [str(expr_of(size)) for size in (item.key, item.value) if size]
    if len(both) == 2 and both[0] == both[1]:
        return f"{count} × 2 × {both[0]}"
    return f"{count} × ({' + '.join(both)})"
