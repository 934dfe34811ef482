"""What layers keep, as an engine holds it of what was read: a GGUF file, or a config.

Every cache of a GGUF file comes from its key-values, by llama.cpp's rules, whether or not the
config is known. Of a config, llama.cpp keeps what its converter would make of it: only some of its
architectures have windows, and an encoder-decoder keeps nothing of the encoder's tokens.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..analysis.gguf.gguf_cache import (
    KEYS_ALONE,
    LATENT,
    WITHOUT_MEMORY,
    CacheLayout,
    cache_layout,
    indexer_row,
)
from ..analysis.gguf.llama_cpp_windows import WINDOWS
from ..core.cache_size import AT_ONCE, ENCODES, CacheSize
from ..core.components import Role
from ..core.config import ModelConfig
from ..core.once import once_each
from ..core.results import Inspection
from ..core.tensor import TensorInfo
from ..formats.gguf.file_kinds import MODEL, in_words, kind_of_file
from ..trees.cache_layout import CacheItem, KeysValues, Unknown
from ..trees.catalog import Family
from ..trees.modules import Layers, Module, Parameter, each_module
from ..trees.prediction import Prediction
from .cache_request import CachedLayer, CacheRequest, Indexing
from .engine_classes import converted_to
from .engines.interface import Engine
from .engines.registry import ENGINES, LOGICAL, OF_GGUF
from .flops import attentions
from .kv_cache import cache_size, cached_layers, decoder_blocks, layers_with_images
from .own_cache import USUAL_CONTEXTS

#: Models that fill in blanks: no encoder, and yet nothing is kept.
_FILL_IN = frozenset({"dream", "llada", "llada-moe", "rnd1"})
#: More layers than any model feeds with pictures.
_MOST_DEEPSTACK = 512


def engine_layers(
    inspection: Inspection, root: Module, engine: Engine, *, images: bool = False
) -> tuple[CachedLayer, ...]:
    """What each layer keeps under ``engine``; ``root`` is the tree of the config. ``images``: with
    what cross-attention keeps of them."""
    if inspection.format == "gguf":
        read = gguf_layers(inspection.metadata, inspection.tensors)
        if not isinstance(read, str):
            return read
    layers = layers_with_images(root) if images else cached_layers(root)
    return converted(inspection, root, layers) if engine.converts else layers


def converted(
    inspection: Inspection, root: Module, layers: Sequence[CachedLayer]
) -> tuple[CachedLayer, ...]:
    """The layers of a class as llama.cpp keeps them once it is converted."""
    name = converted_to(inspection.architecture)
    if name is not None and name not in LATENT:
        layers = _expanded(root, layers)
    rule = None if name is None else WINDOWS.get(name)
    none = rule is None or (rule.only_with is not None and rule.only_with != len(layers))
    as_converted = []
    for layer in layers:
        window = None if none or rule is None or layer.window is None else layer.window
        cache = tuple(item for item in layer.cache if not getattr(item, "cross", False))
        if name in KEYS_ALONE:
            cache = tuple(_indexed(cache, inspection))
        if window is not None and rule is not None and rule.fixed is not None:
            window = rule.fixed
        elif window is not None and rule is not None and rule.written:
            window = ModelConfig(inspection.config or {}).optional_dim(rule.written)
            if window is None:
                reason = f"llama.cpp's converter reads {rule.written}, which the config lacks"
                cache = (Unknown(reason),)
        as_converted.append(replace(layer, cache=cache, window=window))
    return tuple(as_converted)


def _indexed(items: Iterable[CacheItem], inspection: Inspection) -> Iterator[CacheItem]:
    """With the row that llama.cpp's indexer keeps: transformers' has the gate and whether the pool
    is full next to the key (GLM 5 next), or positions apart (Qwen4-Exp)."""
    for item in items:
        if not isinstance(item, KeysValues) or item.name not in ("indexer", "position"):
            yield item
        elif item.name == "indexer":
            config = ModelConfig(inspection.config or {})
            pools = [one for one in (config, *config.sections()) if one.has("index_head_dim")]
            pooled = converted_to(inspection.architecture) == "glm5-next"
            key = (pools or [config])[0].dim("index_head_dim", default=128) if pooled else item.key
            yield indexer_row(key, 0, pooled=pooled)


def _expanded(root: Module, layers: Sequence[CachedLayer]) -> Sequence[CachedLayer]:
    """Each head's keys and values where llama.cpp keeps no latents (MiniCPM 3)."""
    blocks = decoder_blocks(root)
    is_latent = any(item.latent and not item.name for one in layers for item in one.keys_values)
    if not is_latent or len(blocks) != len(layers):
        return layers
    return [_without_latents(block, layer) for block, layer in zip(blocks, layers, strict=True)]


def _without_latents(block: Module, layer: CachedLayer) -> CachedLayer:
    blocks = attentions(block)
    shapes = blocks[0] if len(blocks) == 1 else {}
    queries = shapes.get("query_up") or shapes.get("query")
    if queries is None or "output" not in shapes:
        reason = "llama.cpp keeps no latents of it, and the width of its heads is not known"
        return replace(layer, cache=(Unknown(reason),))
    rows = KeysValues(queries[0], shapes["output"][1])
    cache = (
        rows if isinstance(item, KeysValues) and item.latent and not item.name else item
        for item in layer.cache
    )
    return replace(layer, cache=tuple(cache))


def gguf_layers(
    metadata: Mapping[str, object], tensors: Iterable[TensorInfo]
) -> tuple[CachedLayer, ...] | str:
    """What each layer keeps, or why that is not known or nothing; the reason names the key."""
    kind = kind_of_file(metadata)
    if kind != MODEL:
        return f"the file is {in_words(kind)}"
    layout = _layout(metadata, {tensor.name: tensor.shape for tensor in tensors})
    if isinstance(layout, str):
        return layout
    if layout.architecture in WITHOUT_MEMORY:
        return AT_ONCE if layout.architecture in _FILL_IN else ENCODES
    return layers_of_layout(layout)


_Shapes = Mapping[str, Sequence[int]]


@once_each
def _layouts(_metadata: Mapping[str, object]) -> list[tuple[_Shapes, CacheLayout | str]]:
    """The layout of a file and the shapes that it was made of, once it was."""
    return []


def _layout(metadata: Mapping[str, object], shapes: _Shapes) -> CacheLayout | str:
    known = _layouts(metadata)
    if not known or known[0][0] != shapes:
        known[:] = [(shapes, cache_layout(metadata, shapes))]
    return known[0][1]


def cache_of_file(
    metadata: Mapping[str, object],
    tensors: Iterable[TensorInfo],
    context: int | None,
    heads: int | None,
) -> CacheSize | str:
    """What one sequence of ``context`` tokens needs at least, or why that is not known."""
    layers = gguf_layers(metadata, tensors)
    if isinstance(layers, str):
        return layers
    if not any(layer.cache for layer in layers):
        return AT_ONCE
    dtype = ENGINES[OF_GGUF].default_cache_dtype or "F16"
    request = CacheRequest(tokens=context or USUAL_CONTEXTS[-1], batch=1, dtype=dtype, heads=heads)
    return cache_size(layers, LOGICAL, request, assumed=f"{OF_GGUF}'s default")


def layers_of_layout(layout: CacheLayout) -> tuple[CachedLayer, ...]:
    """The layers of a layout; those that predict further tokens keep nothing and are left out."""
    layers = [
        CachedLayer(layer.cache, layout.window if layer.windowed else None)
        for layer in layout.layers
    ]
    while layers and not layers[-1].cache:
        layers.pop()
    return tuple(layers)


def deepstack_layers(inspection: Inspection, root: Module) -> int:
    """Layers that get features of pictures of their own: of a GGUF file what its key says, else as
    many as the tower has mergers for them."""
    count = inspection.metadata.get(
        f"{inspection.metadata.get('general.architecture')}.n_deepstack_layers"
    )
    if isinstance(count, int):
        return max(0, min(count, _MOST_DEEPSTACK))
    for module in each_module(root):
        for name in ("deepstack_merger_list", "deepstack_mergers"):
            if isinstance(mergers := module.children.get(name), Module):
                return len(mergers.children)
    return 0


def indexing_of(inspection: Inspection) -> Indexing:
    """What the file's or the config's keys say of an indexer."""
    prefix = f"{inspection.metadata.get('general.architecture')}.attention."
    config = ModelConfig(inspection.config or {})
    configs = (config, *config.sections())

    def smallest(key: str, *spellings: str) -> int:
        """The smallest of several, 0 where there is none."""
        value = inspection.metadata.get(prefix + key)
        listed = value if isinstance(value, list) else [value]
        listed = [*listed, *(one.raw(name) for one in configs for name in spellings)]
        return min((one for one in listed if type(one) is int and one > 0), default=0)

    pooled = smallest("indexer.kpool", "index_kpool")
    ratio = smallest("compress_ratios", "indexer_compress_ratio") or pooled
    return Indexing(max(ratio, 1), smallest("indexer.top_k", "index_topk", "indexer_budget"))


def tree_of_file(inspection: Inspection) -> Prediction:
    """A tree of the tensors of a file whose architecture the catalog does not have.

    It serves sums over the tensors (work, the widest layer); it predicts nothing.
    """
    outside: dict[str, Module | Parameter | None] = {}
    blocks: dict[int, dict[str, Module | Parameter | None]] = {}
    for tensor in inspection.tensors:
        if tensor.role is not Role.PARAMETER or tensor.part != "text":
            continue
        path, _, leaf = tensor.name.rpartition(".")
        if tensor.layer is None:
            _module(outside, path.replace(".", "_"), leaf, tensor)
        else:
            inner = path.split(".", 2)[-1].replace(".", "_")
            _module(blocks.setdefault(tensor.layer, {}), inner, leaf, tensor)
    layers = Layers([Module("Block", children) for _, children in sorted(blocks.items())])
    name = inspection.model_type or ""
    family = Family((name,), {}, category="text decoder", source="the file's own tensors")
    root = Module("GgufFile", {**outside, "blk": layers}, part="text")
    return Prediction(name, "", root, family)


def _module(
    into: dict[str, Module | Parameter | None], name: str, leaf: str, tensor: TensorInfo
) -> None:
    weight = Parameter(tensor.shape, component=tensor.component, active=tensor.active)
    module = into.get(name)
    if isinstance(module, Module):
        module.children[leaf or "weight"] = weight
        return
    does = "token" if tensor.name == "token_embd.weight" else tensor.kind
    is_linear = len(tensor.shape) == 2 and does != "token"
    into[name] = Module(
        "Linear" if is_linear else "Tensor",
        {leaf or "weight": weight},
        component=tensor.component,
        kind=does or None,
        active=tensor.active,
    )
