"""Latents that llama.cpp keeps expanded: GGUF files without tensors of latent attention.

Files made before llama.cpp had latent attention hold ``attn_kv_b`` whole where later ones hold
``attn_k_b`` and ``attn_v_b``. Of those each head's keys and values are kept, as of any attention:
heads · (nope + rope) and heads · v a token instead of one latent. Source: ``is_mla`` of
llama-hparams.cpp and ``n_embd_k_gqa``, ``n_embd_v_gqa`` in llama-kv-cache.cpp (commit 0c1e57098).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..core.results import Inspection
from ..core.tensor import TensorInfo
from ..trees.keeps import KeysValues
from ..trees.modules import Module
from .cache_request import KeptLayer
from .engines.interface import Engine
from .flops import attentions
from .kv_cache import decoder_blocks, kept_layers


def layers_held(found: Inspection, root: Module, engine: Engine) -> tuple[KeptLayer, ...]:
    """What the layers keep as an engine holds them of what was read."""
    layers = kept_layers(root)
    if found.format == "gguf" and engine.expands_latents:
        return expanded(found.tensors, root, layers)
    return layers


def expanded(
    tensors: Iterable[TensorInfo], root: Module, layers: Sequence[KeptLayer]
) -> tuple[KeptLayer, ...]:
    """The layers as llama.cpp keeps them of a file with these tensors."""
    blocks = decoder_blocks(root)
    is_latent = any(item.latent for layer in layers for item in layer.keys_values)
    if not is_latent or len(blocks) != len(layers):
        return tuple(layers)
    if not any(".attn_kv_b." in tensor.name for tensor in tensors):
        return tuple(layers)
    return tuple(_whole(block, layer) for block, layer in zip(blocks, layers, strict=True))


def _whole(block: Module, layer: KeptLayer) -> KeptLayer:
    found = attentions(block)
    shapes = found[0] if len(found) == 1 else {}
    queries = shapes.get("query_up") or shapes.get("query")
    if queries is None or "output" not in shapes:
        return layer
    keys, values = queries[0], shapes["output"][1]
    keeps = (
        KeysValues(keys, values) if isinstance(item, KeysValues) and item.latent else item
        for item in layer.keeps
    )
    return replace(layer, keeps=tuple(keeps))
