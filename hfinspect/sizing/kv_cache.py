"""What a decoder keeps between tokens, layer by layer, read off the module tree, and its bytes."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from ..core.cache_size import CacheGroup, CacheSize
from ..core.dims import expr_of
from ..core.once import once_each
from ..errors import UsageError
from ..trees.cache_layout import PADDING, CacheItem, KeysValues, State, Unknown
from ..trees.modules import Layers, Module
from .cache_request import CachedLayer, CacheRequest
from .engines.interface import Engine
from .engines.registry import LOGICAL
from .layer_cache import layer_cache


@once_each
def cached_layers(root: Module) -> tuple[CachedLayer, ...]:
    """The layers of the model's decoder, in order; of an encoder-decoder those of the decoder.

    Cross-attention counts where the tree has the encoder whose tokens it keeps.
    """
    caching: list[CachedLayer] = []
    both, stacks = _decoder_stacks(root)
    for layers in stacks:
        caching += [*_of_stack(layers, cross=both)] * layers.passes
    return tuple(caching)


@once_each
def layers_with_images(root: Module) -> tuple[CachedLayer, ...]:
    """The same layers of a decoder whose cross-attention keeps what an image gives (Llama 3.2
    Vision), which it does only where a prompt has one."""
    _, stacks = _decoder_stacks(root)
    return tuple(
        layer for layers in stacks for layer in [*_of_stack(layers, cross=True)] * layers.passes
    )


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
    return sum(count for _, count in counts)


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
    paths = [(path, layers) for path, part, layers in chosen if part == "text"]
    if all(_ends(path, "encoder") for path, _ in paths):  # a decoder of sound
        heard = [
            (path, layers)
            for path, part, layers in stacks
            if part == "audio" and not _ends(path, "encoder")
            if _ends(path, "decoder") or not paths
            if any(layer_cache(block) for block in _blocks(layers))
        ]
        if heard:
            return bool(paths), heard
    # An encoder of proteins next to a decoder that is not called one keeps nothing.
    apart = [item for item in paths if not _ends(item[0], "encoder")]
    return both, apart or paths


def _ends(path: str, word: str) -> bool:
    """Whether a module of the path is named so: ``decoder``, ``text_decoder``."""
    return any(segment.endswith(word) for segment in path.split("."))


def cached_layers_with_paths(root: Module) -> Iterator[tuple[str, int, CachedLayer]]:
    """The same layers with the path of their list and the number that each has in it; one that a
    token goes through several times is there as often."""
    both, stacks = _decoder_paths(root)
    for path, layers in stacks:
        numbers = [int(name) for name in _named_blocks(layers)]
        for _ in range(layers.passes):
            for number, cached_layer in zip(numbers, _of_stack(layers, cross=both), strict=True):
                yield path, number, cached_layer


def _of_stack(layers: Layers, *, cross: bool) -> Iterator[CachedLayer]:
    static = layers.static
    layers = layers.like or layers
    blocks = _blocks(layers)
    windows = layers.windows(len(blocks)) if layers.windows else [None] * len(blocks)
    items_of: dict[int, tuple[CacheItem, ...]] = {}
    for i, (block, window) in enumerate(zip(blocks, windows, strict=True)):
        if id(block) not in items_of:
            items_of[id(block)] = tuple(
                item for item in layer_cache(block) if cross or not getattr(item, "cross", False)
            )
        reuses = i >= len(blocks) - layers.reused
        yield CachedLayer(() if reuses else items_of[id(block)], window, static)


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


def unknown_layouts(layers: Sequence[CachedLayer], engine: Engine = LOGICAL) -> tuple[str, ...]:
    """Why the bytes of some layers are not known, each reason once; empty where all are."""
    reasons = [item.reason for layer in layers for item in layer.cache if isinstance(item, Unknown)]
    return tuple(dict.fromkeys([*reasons, *engine.unknown_layouts(layers)]))


#: Names of states where they are not their own.
_STATES = MappingProxyType({"conv": "convolution state", "padding": "padding to pages"})


def cache_size(
    layers: Sequence[CachedLayer], engine: Engine, request: CacheRequest, *, assumed: str = ""
) -> CacheSize:
    """Bytes that ``engine`` holds of these layers. ``assumed`` says why this dtype.

    Raises UsageError for a dtype that cannot hold what the layers keep.
    """
    _check_dtype(layers, engine, request)
    layers, engine = engine.in_pages(layers, request)
    plain = layers
    layers = engine.in_groups(layers)
    groups = _groups(layers, engine, request)
    kv = sum(group.nbytes for group in groups if group.rows)
    state = sum(group.nbytes for group in groups if not group.rows)
    cross = sum(group.nbytes for group in groups if group.rows and not group.grows)
    rows = [item for layer in layers for item in layer.keys_values]
    prompts = sum(
        engine.bytes_of_rows(item, int(item.before), request.dtype, request.heads)
        for item in rows
        if item.before
    )
    apart = sum(
        engine.bytes_of_rows(item, _rows(item, None, engine, request), request.dtype, request.heads)
        for item in rows
        if item.prompt
    )
    has_cross = any(item.cross for item in rows)
    growing = [item for item in layers if any(not one.cross for one in item.keys_values)]
    full = {
        engine.window_full(item.window, request.batch)
        for item in growing
        if item.window is not None
    }
    first = _growth(growing, engine, request, 0)
    return CacheSize(
        engine=engine.name,
        version=engine.version,
        tokens=request.tokens,
        batch=request.batch,
        dtype=request.dtype,
        nbytes=kv + state,
        kv_bytes=kv - apart,
        state_bytes=state + apart,
        fixed=(state + cross) // request.batch + prompts,
        per_token=_growth(growing, engine, request, request.tokens),
        per_token_first=first,
        knee=max(full) if full else None,
        layers=tuple(groups),
        encoder_tokens=request.seen if has_cross else None,
        assumed=assumed,
        notes=tuple(engine.notes(plain, request, first)),
    )


def _growth(
    layers: Sequence[CachedLayer], engine: Engine, request: CacheRequest, tokens: int
) -> int:
    """Bytes that one more token adds to a sequence of ``tokens``: windows that are full do not
    grow. Where an engine holds blocks, or tokens share a row, it is the mean over them."""
    return sum(
        engine.bytes_of_rows(item, 1, request.dtype, request.heads) // item.every
        for layer in layers
        for item in layer.keys_values
        if not item.cross
        and item.of == "groups"
        and (
            layer.window is None
            or item.every > 1
            or tokens < engine.window_full(layer.window, request.batch)
        )
    )


def _groups(
    layers: Sequence[CachedLayer], engine: Engine, request: CacheRequest
) -> list[CacheGroup]:
    """What layers keep, equal ones together, in order of their first layer."""
    groups = []
    for (item, window), count in counted_caches(layers).items():
        if isinstance(item, KeysValues):
            groups.append(_of_rows(item, window, count, engine, request))
        elif isinstance(item, State):
            groups.append(_of_state(item, count, engine, request))
    return groups


def _check_dtype(layers: Sequence[CachedLayer], engine: Engine, request: CacheRequest) -> None:
    for item in (item for layer in layers for item in layer.keys_values):
        reason = engine.cache_refusal(item, request.dtype)
        if reason:
            raise UsageError(f"cache dtype {request.dtype}", "does not fit the model", hint=reason)


#: What layers keep, with its window -> how many layers do.
CountedCaches: TypeAlias = Mapping[tuple[CacheItem, int | None], int]


def caches_under(
    layers: Sequence[CachedLayer], engine: Engine, request: CacheRequest
) -> tuple[CountedCaches, Engine]:
    """What an engine holds of layers in its pages and groups, and the engine with these: for
    ``cache_bytes`` at any context and batch. Windows are plain numbers, as sums over many contexts
    need no formula.

    Raises UsageError for a dtype that cannot hold what the layers keep.
    """
    _check_dtype(layers, engine, request)
    paged, engine = engine.in_pages(layers, request)
    counted = counted_caches(engine.in_groups(paged)).items()
    plain = {(one, None if window is None else int(window)): n for (one, window), n in counted}
    return plain, engine


def counted_caches(layers: Sequence[CachedLayer]) -> dict[tuple[CacheItem, int | None], int]:
    """What layers keep, with its window, and how many layers do."""
    counted: dict[tuple[CacheItem, int | None], int] = {}
    for layer in layers:
        for item in layer.cache:
            windowed = isinstance(item, KeysValues) and item.every == 1
            key = (item, layer.window if windowed else None)
            counted[key] = counted.get(key, 0) + 1
    return counted


def cache_bytes(counted: CountedCaches, engine: Engine, request: CacheRequest) -> int:
    """``cache_size(...).nbytes`` of what ``caches_under`` counted: for many contexts at once."""
    total = 0
    for (item, window), count in counted.items():
        if isinstance(item, KeysValues):
            rows = _rows(item, window, engine, request)
            total += engine.bytes_of_rows(item, rows * count, request.dtype, request.heads)
        elif isinstance(item, State):
            total += engine.state_bytes(item, request, count)
    return total


def _rows(item: KeysValues, window: int | None, engine: Engine, request: CacheRequest) -> int:
    if item.cross:
        return request.batch * request.seen
    # All tokens of a request are its prompt, which no window ends.
    return engine.rows_of(item, None if item.prompt else window, request.tokens, request.batch)


def _of_rows(
    item: KeysValues, window: int | None, count: int, engine: Engine, request: CacheRequest
) -> CacheGroup:
    rows = _rows(item, window, engine, request)
    return CacheGroup(
        _label(item),
        count,
        engine.row_elements(item) * count,
        item.dtype or request.dtype,
        grows=not item.cross,
        window=window,
        rows=rows,
        nbytes=engine.bytes_of_rows(item, rows * count, request.dtype, request.heads),
        formula=_formula(item, count),
    )


def _of_state(item: State, count: int, engine: Engine, request: CacheRequest) -> CacheGroup:
    shape = engine.state_shape(item)
    return CacheGroup(
        _STATES.get(item.name, f"{item.name} state"),
        count,
        engine.state_elements(item) * count,
        engine.state_dtype_of(item, request),
        grows=False,
        rows=0,
        nbytes=engine.state_bytes(item, request, count),
        formula=" × ".join([str(count), *(str(expr_of(size)) for size in shape)]),
    )


def _label(item: KeysValues) -> str:
    if item.every > 1:
        return item.name
    if item.name == PADDING:
        return "padding to equal groups"
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
