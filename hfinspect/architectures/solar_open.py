"""Solar Open (Upstage 2025). Source of shapes: transformers/models/solar_open.

DeepSeek-V3's experts and corrected router in every layer, around grouped attention.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.latent_decoders import Variant, model
from ..trees.catalog import register
from ..trees.modules import Module


def _attention(c: ModelConfig, hidden: Dim, _kind: str) -> Module:
    return grouped_attention(
        "SolarOpenAttention",
        hidden,
        grouped_heads(c, hidden, heads=64, kv=8, head_dim=128),
        bias=c.flag("attention_bias", default=False),
        out_bias=False,
    )


_VARIANT = Variant(
    "SolarOpen",
    _attention,
    vocab=196608,
    hidden=4096,
    dense=10240,  # no layer is dense
    expert=1280,
    layers=48,
    experts=128,
    per_token=8,
    first=0,
    eps=1e-5,
)


def _base(c: ModelConfig) -> Module:
    # first_k_dense_replace is not read by this class.
    kept = {key: value for key, value in c.values.items() if key != "first_k_dense_replace"}
    return model(_VARIANT, ModelConfig(kept, c.path))


register(
    "solar_open",
    decoder_classes("SolarOpen", _base, heads=()),
    base="SolarOpenModel",
    base_prefix="model",
    category="text decoder",
)
