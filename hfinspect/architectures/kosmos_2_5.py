"""Kosmos-2.5 (Lv et al. 2023). Source of shapes: transformers/models/kosmos2_5.

Pix2Struct's vision tower, learned queries that read it, and Kosmos-2's decoder with a table of what
is image and what text, and without the norm inside attention.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import renamed
from ..layers.heads import to_words
from ..layers.vision import clip_attention
from ..trees.catalog import register, register_part
from ..trees.modules import Embedding, Linear, Module, Weight
from . import kosmos_2, pix2struct

_NAME = "Kosmos2_5"


# ---- text


def _text(c: ModelConfig) -> ModelConfig:
    """Kosmos-2's decoder under this one's defaults; it never looks at an encoder."""
    width = {} if c.has("embed_dim", "hidden_size") else {"embed_dim": 1536}
    sized = c.with_defaults(vocab_size=108481, ffn_dim=6144, **width)
    return ModelConfig({**sized.values, "add_cross_attention": False}, c.path)


def _width(c: ModelConfig) -> Dim:
    return c.dim("embed_dim", "hidden_size", default=1536)


def _transformer(c: ModelConfig) -> Module:
    built = kosmos_2.text_transformer(_text(c))
    layers = built["layers"]
    assert isinstance(layers, Module)
    for layer in layers.children.values():
        assert isinstance(layer, Module)
        attention = layer["self_attn"]
        assert isinstance(attention, Module)
        attention.children.pop("inner_attn_ln", None)
        attention.class_name = "Kosmos2TextAttention"
    built.children["segment_emb"] = Embedding(2, _width(c), kind="segment")
    return renamed(built, "Kosmos2", _NAME)


def text_model(c: ModelConfig) -> Module:
    return Module(f"{_NAME}TextModel", model=_transformer(c))


def text_lm(c: ModelConfig, *, at: str = "") -> Module:
    to = f"{at}model.embed_tokens.weight" if c.tied(default=True) else None
    head = to_words(_width(c), c.dim("vocab_size", default=108481), to)
    return Module(f"{_NAME}TextForCausalLM", model=_transformer(c), lm_head=head)


# ---- vision


def vision_model(c: ModelConfig) -> Module:
    heads, head = c.dim("num_attention_heads", default=24), c.dim("head_dim", default=64)
    tower = pix2struct.tower(
        c,
        c.dim("hidden_size", default=1536),
        heads * head,
        c.dim("intermediate_size", default=3968),
        layers=c.count("num_hidden_layers", default=18),
        positions=c.dim("max_num_patches", default=4096),
    )
    return renamed(tower, "Pix2Struct", _NAME)


# ---- together


def _seeing(c: ModelConfig) -> dict[str, Module]:
    vision, d = c.section("vision_config"), _width(c.section("text_config"))
    attention = clip_attention(f"{_NAME}TextAttention", d)
    attention.component = Component.PROJECTOR
    return {
        "vision_model": vision_model(vision),
        "image_to_text_projection": Module(
            f"{_NAME}ImageToTextProjection",
            latent_query=Weight(c.dim("latent_query_num", default=2048), d),
            dense=Linear(vision.dim("hidden_size", default=1536), d),
            x_attn=attention,
            component=Component.PROJECTOR,
            part="projector",
        ),
    }


def generation(c: ModelConfig) -> Module:
    """The decoder's section alone says whether the head is tied."""
    text = text_lm(c.section("text_config"), at="text_model.")
    return Module(f"{_NAME}ForConditionalGeneration", {"text_model": text, **_seeing(c)})


def base(c: ModelConfig) -> Module:
    text = text_model(c.section("text_config"))
    return Module(f"{_NAME}Model", {"text_model": text, **_seeing(c)})


register(
    "kosmos-2.5",
    {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": base},
    base=f"{_NAME}Model",
    category="multimodal",
)
register(
    "kosmos_2_5_text_model",
    {f"{_NAME}TextModel": text_model, f"{_NAME}TextForCausalLM": text_lm},
    base=f"{_NAME}TextModel",
    category="text decoder",
)
register_part("kosmos_2_5_vision_model", f"{_NAME}VisionModel", vision_model, "vision")
