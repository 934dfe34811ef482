"""GLM-5 (Zhipu AI 2026). Source of shapes: transformers/models/glm_moe_dsa.

DeepSeek-V3.2's latent and sparse attention; layers of the type ``shared`` reuse the choice of an
earlier layer's indexer and have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import layer_types
from ..layers.heads import decoder_classes
from ..layers.latent import latent_attention, latent_sizes
from ..layers.latent_decoders import Variant, model
from ..trees.catalog import register
from ..trees.modules import Module
from .deepseek_v32 import indexer

_LETTERS = {"F": "full", "S": "shared"}


def indexer_types(c: ModelConfig, layers: int) -> Sequence[str]:
    """indexer_types, else index_topk_pattern ("FSSF", or a list of words), else ``full`` in every
    index_topk_freq-th layer from index_skip_topk_offset on.

    Raises ConfigError for another word, letter or length.
    """
    key = "indexer_types"
    pattern = c.raw("index_topk_pattern")
    if not c.has(key) and isinstance(pattern, str):
        found: Sequence[str] = [_LETTERS.get(letter, letter) for letter in pattern]
        if len(found) != layers:
            raise c.error("index_topk_pattern", pattern, f"a letter for each of {layers} layers")
    elif not c.has(key) and pattern is not None:
        found = layer_types(c, layers, lambda _: "full", key="index_topk_pattern")
    else:
        every = max(int(c.dim("index_topk_freq", default=1, minimum=0)), 1)
        offset = int(c.dim("index_skip_topk_offset", default=2, minimum=0))
        found = layer_types(
            c,
            layers,
            lambda i: "shared" if max(i - offset + 1, 0) % every else "full",
            key=key,
        )
    for kind in found:
        if kind not in _LETTERS.values():
            raise c.error(key, kind, "full or shared")
    return found


def _attention(c: ModelConfig, hidden: Dim, kind: str) -> Module:
    sizes = latent_sizes(c, heads=64, query_rank=2048, plain=192, value=256)
    bias = c.flag("attention_bias", default=False)
    block = latent_attention("GlmMoeDsa", hidden, sizes, bias=bias)
    if kind == "full":
        block.children["indexer"] = indexer(c, "GlmMoeDsa", hidden, sizes, heads=32)
    return block


_VARIANT = Variant(
    "GlmMoeDsa",
    _attention,
    vocab=154880,
    hidden=6144,
    dense=12288,
    expert=2048,
    layers=78,
    experts=256,
    per_token=8,
    first=3,
    eps=1e-5,
    listed=True,
    types=indexer_types,
)

register(
    "glm_moe_dsa",
    decoder_classes("GlmMoeDsa", partial(model, _VARIANT), heads=()),
    base="GlmMoeDsaModel",
    base_prefix="model",
    category="text decoder",
)
