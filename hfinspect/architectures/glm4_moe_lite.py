"""GLM-4.7-Flash (Z.ai 2026).

Source of shapes: transformers/models/glm4_moe_lite/modeling_glm4_moe_lite.py.
DeepSeek-V3's latent attention and experts in a smaller model.
"""

from __future__ import annotations

from functools import partial

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import with_defaults
from ..layers.heads import decoder_classes
from ..layers.latent import latent_attention, latent_sizes
from ..layers.latent_decoders import Variant, model
from ..trees.catalog import register
from ..trees.modules import Module


def _attention(c: ModelConfig, hidden: Dim, _kind: str) -> Module:
    bias = c.flag("attention_bias", default=False)
    sizes = latent_sizes(c, heads=20, query_rank=768, plain=192, value=256)
    return latent_attention("Glm4MoeLite", hidden, sizes, bias=bias)


_VARIANT = Variant(
    "Glm4MoeLite",
    _attention,
    vocab=154880,
    hidden=2048,
    dense=10240,
    expert=1536,
    layers=47,
    experts=64,
    per_token=4,
    first=1,
    eps=1e-5,
    listed=True,
)

register(
    "glm4_moe_lite",
    with_defaults(
        {},
        decoder_classes("Glm4MoeLite", partial(model, _VARIANT), hidden=_VARIANT.width, heads=()),
        synonyms={"head_dim": "qk_rope_head_dim"},
    ),
    base="Glm4MoeLiteModel",
    base_prefix="model",
    category="text decoder",
)
