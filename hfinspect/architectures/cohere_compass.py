"""Cohere Compass: Command R7B's decoder and Qwen3-VL's vision tower.

Source of shapes: transformers/models/cohere_compass/modeling_cohere_compass.py.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.heads import causal_lm, sequence_classification
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module
from .cohere import hidden, mlp, norm
from .qwen3_vl import vision_model

_NAME = "CohereCompass"


def text_model(c: ModelConfig) -> Module:
    h = hidden(c)
    bias = c.flag("attention_bias", default=False)
    layer = Module(
        "CohereCompassDecoderLayer",
        self_attn=grouped_attention(
            "CohereCompassAttention", h, grouped_heads(c, h, heads=64), bias=bias
        ),
        mlp=mlp(c, _NAME),
        input_layernorm=norm(_NAME, h),
    )
    return Module(
        "CohereCompassTextModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=256000), h),
        layers=Layers.of(
            c.count("num_hidden_layers", default=40),
            layer,
            windows=windows(c, 4096, lambda _i, _n: True),
        ),
        norm=norm(_NAME, h),
        rotary_emb=Activation("CohereCompassRotaryEmbedding"),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "CohereCompassModel",
        visual=vision_model(_NAME, c.section("vision_config")),
        language_model=text_model(c.section("text_config")),
    )


def conditional_generation(c: ModelConfig) -> Module:
    text = c.section("text_config")
    tied = c.tied(default=False)
    head = Linear(
        hidden(text),
        text.dim("vocab_size", default=256000),
        bias=False,
        tied_to="model.language_model.embed_tokens.weight" if tied else None,
        component=Component.HEAD,
        kind="lm_head",
    )
    return Module("CohereCompassForConditionalGeneration", model=model(c), lm_head=head)


register(
    "cohere_compass_text",
    {
        "CohereCompassForCausalLM": causal_lm(
            "CohereCompassForCausalLM", text_model, tied_default=True
        ),
        "CohereCompassTextModel": text_model,
        "CohereCompassTextForSequenceClassification": sequence_classification(
            "CohereCompassTextForSequenceClassification", text_model, hidden=hidden
        ),
    },
    base="CohereCompassTextModel",
    base_prefix="model",
    category="text decoder",
)
register(
    "cohere_compass",
    {
        "CohereCompassForConditionalGeneration": conditional_generation,
        "CohereCompassModel": model,
    },
    base="CohereCompassModel",
    base_prefix="model",
    category="multimodal",
)
