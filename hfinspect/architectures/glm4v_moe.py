"""GLM-4.5V and 4.6V (Zhipu 2025). Source of shapes: transformers/models/glm4v_moe.

The tower of GLM-4.1V (glm4v.py) before the decoder of GLM-4.5 (glm4_moe.py).
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.composing import renamed
from ..layers.latent_decoders import Variant
from ..layers.latent_decoders import model as latent_decoder
from ..trees.catalog import register
from ..trees.modules import Activation, Module
from . import glm4v


def _attention(c: ModelConfig, hidden: Dim, _kind: str) -> Module:
    heads = grouped_heads(c, hidden, heads=96, kv=8)
    bias = c.flag("attention_bias", default=True)
    return grouped_attention("Glm4vMoeTextAttention", hidden, heads, bias=bias, out_bias=False)


_VARIANT = Variant(
    "Glm4vMoeText",
    _attention,
    vocab=151424,
    hidden=4096,
    dense=10944,
    expert=1408,
    layers=46,
    experts=128,
    per_token=8,
    first=1,
    eps=1e-5,
)


def text_model(c: ModelConfig) -> Module:
    built = latent_decoder(_VARIANT, c)
    norm = built["norm"]
    assert isinstance(norm, Module)
    norm.class_name = "Glm4vMoeRMSNorm"
    built.children["rotary_emb"] = Activation("Glm4vMoeTextRotaryEmbedding")
    return built


def vision_model(c: ModelConfig) -> Module:
    tower = renamed(glm4v.vision_model(c), "Glm4v", "Glm4vMoe")
    return renamed(tower, "Glm4VisionMlp", "Glm4vMoeisionMlp")


def base(c: ModelConfig) -> Module:
    return Module(
        "Glm4vMoeModel",
        visual=vision_model(c.section("vision_config")),
        language_model=text_model(c.section("text_config")),
    )


def generation(c: ModelConfig) -> Module:
    tied = c.tied(default=False) or c.section("text_config").tied(default=False)
    return glm4v.composite("Glm4vMoeForConditionalGeneration", base(c), tied=tied)


register(
    "glm4v_moe",
    {"Glm4vMoeForConditionalGeneration": generation, "Glm4vMoeModel": base},
    base="Glm4vMoeModel",
    base_prefix="model",
    category="multimodal",
)
register(
    "glm4v_moe_vision",
    {"Glm4vMoeVisionModel": vision_model},
    base="Glm4vMoeVisionModel",
    category="vision",
)
