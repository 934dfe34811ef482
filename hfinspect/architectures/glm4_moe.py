"""GLM-4.5 and 4.6 (Zhipu AI 2025). Source of shapes: transformers/models/glm4_moe.

DeepSeek-V3's dense first layers, shared experts and corrected router around grouped attention,
with norms on q and k where ``use_qk_norm``.
"""

from __future__ import annotations

from functools import partial

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.latent_decoders import Variant, model
from ..trees.catalog import register
from ..trees.modules import Module


def _attention(c: ModelConfig, hidden: Dim, _kind: str) -> Module:
    heads = grouped_heads(c, hidden, heads=96, kv=8)
    normed = c.flag("use_qk_norm", default=False)

    def norms() -> dict[str, Module]:
        return {name: _VARIANT.norm(c, heads.dim) for name in ("q_norm", "k_norm")}

    return grouped_attention(
        "Glm4MoeAttention",
        hidden,
        heads,
        bias=c.flag("attention_bias", default=False),
        out_bias=False,
        norms=norms if normed else None,
    )


_VARIANT = Variant(
    "Glm4Moe",
    _attention,
    vocab=151552,
    hidden=4096,
    dense=10944,
    expert=1408,
    layers=46,
    experts=128,
    per_token=8,
    first=1,
    eps=1e-5,
)

register(
    "glm4_moe",
    decoder_classes("Glm4Moe", partial(model, _VARIANT), heads=()),
    base="Glm4MoeModel",
    base_prefix="model",
    category="text decoder",
)
