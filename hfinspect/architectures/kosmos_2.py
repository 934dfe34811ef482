"""Kosmos-2 (Peng et al. 2023). Source: transformers/models/kosmos2/modeling_kosmos2.py.

CLIP's vision tower, 64 learned queries that read it, and a decoder with a norm inside attention and
MLP (Magneto). Text positions are sinusoids, without tensors.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.composing import without_static_cache
from ..layers.heads import causal_lm
from ..layers.multimodal import tied_section
from ..layers.vision import clip_attention, clip_tower
from ..trees.catalog import Builder, register, register_part
from ..trees.modules import Activation, Embedding, LayerNorm, Layers, Linear, Module, Weight

# ---- text


_width = size("embed_dim", "hidden_size", default=2048)
_vocab = size("vocab_size", default=65037)


def text_layer(c: ModelConfig) -> Module:
    d, inner = _width(c), c.dim("ffn_dim", default=8192)
    eps = c.number("layer_norm_eps", default=1e-5)
    attention = clip_attention("KosmosTextAttention", d)
    attention.children["inner_attn_ln"] = LayerNorm(d, eps=eps)
    cross = c.flag("add_cross_attention", default=False)
    return Module(
        "Kosmos2TextBlock",
        self_attn=attention,
        self_attn_layer_norm=LayerNorm(d, eps=eps),
        encoder_attn=clip_attention("KosmosTextAttention", d) if cross else None,
        encoder_attn_layer_norm=LayerNorm(d, eps=eps) if cross else None,
        ffn=Module(
            "Kosmos2TextFFN",
            activation_fn=activation(c.text("activation_function", default="gelu")),
            fc1=Linear(d, inner, kind="up"),
            fc2=Linear(inner, d, kind="down"),
            ffn_layernorm=LayerNorm(inner, eps=eps),
            component=Component.MLP,
        ),
        final_layer_norm=LayerNorm(d, eps=eps),
    )


def text_transformer(c: ModelConfig) -> Module:
    layers = c.count("layers", "num_hidden_layers", default=24)
    return Module(
        "Kosmos2TextTransformer",
        embed_tokens=Embedding(_vocab(c), _width(c)),
        embed_positions=Activation("Kosmos2TextSinusoidalPositionalEmbedding"),
        layers=Layers.of(layers, text_layer(c)),
        layer_norm=LayerNorm(_width(c), eps=c.number("layer_norm_eps", default=1e-5)),
    )


_NAMED = "Kosmos2TextForCausalLM"
_CAUSAL = causal_lm(_NAMED, text_transformer, tied_default=True)


# ---- vision


def vision_model(c: ModelConfig) -> Module:
    transformer = clip_tower(
        "Kosmos2Vision", c, c.dim("hidden_size", default=1024), inner=4096, layers=24, patch=14,
        act="quick_gelu", old=True,
    )  # fmt: skip
    return Module("Kosmos2VisionModel", model=transformer, part="vision")


# ---- together


def projection(c: ModelConfig) -> Module:
    """Learned queries attend to the projected image."""
    text, vision = c.section("text_config"), c.section("vision_config")
    d = _width(text)
    attention = clip_attention("KosmosTextAttention", d)
    attention.component = Component.PROJECTOR
    return Module(
        "Kosmos2ImageToTextProjection",
        latent_query=Weight(c.dim("latent_query_num", default=64), d),
        dense=Linear(vision.dim("hidden_size", default=1024), d),
        x_attn=attention,
        component=Component.PROJECTOR,
        part="projector",
    )


def _with(name: str, text: Builder) -> Builder:
    def build(c: ModelConfig) -> Module:
        words = text(tied_section(c))
        words.scope = True
        return Module(
            name,
            text_model=words,
            vision_model=vision_model(c.section("vision_config")),
            image_to_text_projection=projection(c),
        )

    return build


def only_text(c: ModelConfig) -> Module:
    return Module("Kosmos2TextModel", model=text_transformer(c))


_WHOLE, _BASE = "Kosmos2ForConditionalGeneration", "Kosmos2Model"
register(
    "kosmos-2",
    without_static_cache({_WHOLE: _with(_WHOLE, _CAUSAL), _BASE: _with(_BASE, only_text)}),
    category="multimodal",
)
register(
    "kosmos_2_text_model",
    without_static_cache({"Kosmos2TextModel": only_text, _NAMED: _CAUSAL}),
    category="text decoder",
)
register_part("kosmos_2_vision_model", "Kosmos2VisionModel", vision_model, "vision")
