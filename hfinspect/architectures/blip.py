"""BLIP (Li et al. 2022). Source: transformers/models/blip/modeling_blip.py, modeling_blip_text.py.

A ViT with fused q, k, v, and BERT with cross-attention to the image: as decoder (captions), as
encoder (retrieval), as both (question answering).
"""

from collections.abc import Callable

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.blocks import fused_attention, size
from ..layers.composing import Part, composed, with_defaults
from ..layers.encoders import BASE, hidden
from ..layers.heads import classifier
from ..layers.multimodal import tied_section, within
from ..layers.vision import clip_encoder, clip_layer, pair, patch_conv, patch_count
from ..trees.catalog import register, register_part
from ..trees.modules import LayerNorm, Linear, Module, Weight

#: Sizes of BLIP's; BLIP-2 has others.
_VISION = {
    "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
    "num_attention_heads": 12, "image_size": 384, "patch_size": 16, "layer_norm_eps": 1e-5,
}  # fmt: skip


def vision_model(c: ModelConfig, name: str = "Blip", *, bias: bool = True) -> Module:
    c = c.with_defaults(**_VISION)
    h, eps = hidden(c), c.number("layer_norm_eps", default=1e-5)
    c.divided(h, c.dim(key := "num_attention_heads"), "hidden_size", key)
    image, patch = pair(c, "image_size", default=384), pair(c, "patch_size", default=16)
    layer = clip_layer(
        name, h, c.dim("intermediate_size"), eps=eps, act=c.text("hidden_act", default="gelu"),
        attention=fused_attention(f"{name}Attention", h, bias=bias, out="projection"),
    )  # fmt: skip
    return Module(
        f"{name}VisionModel",
        embeddings=Module(
            f"{name}VisionEmbeddings",
            class_embedding=Weight(1, 1, h, kind="class_token"),
            position_embedding=Weight(1, patch_count(image, patch) + 1, h, kind="position"),
            patch_embedding=patch_conv(3, h, patch),
            component=Component.EMBEDDING,
        ),
        encoder=clip_encoder(name, c.count("num_hidden_layers"), layer),
        post_layernorm=LayerNorm(h, eps=eps),
        part="vision",
    )


_NAME = "BlipText"
_TEXT = {**BASE, "vocab_size": 30524, "num_attention_heads": 8}


def _text_model(c: ModelConfig, context: Dim, *, pooling: bool = True) -> Module:
    """BERT without segments; as a decoder its layers look at states ``context`` wide."""
    seen = encoders.projections(c, f"{_NAME}SelfAttention", context)
    crossing = encoders.attending(c, _NAME, seen) if c.flag("is_decoder", default=True) else None
    layer = encoders.layer(c, _NAME, crossing=crossing)
    return Module(
        f"{_NAME}Model",
        embeddings=encoders.unsegmented(c, _NAME),
        encoder=encoders.encoder(c, _NAME, layer),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _text_decoder(c: ModelConfig, context: Dim, at: str = "text_decoder.") -> Module:
    """BERT with its masked-LM head, which writes the text word by word."""
    table = f"{at}bert.embeddings.word_embeddings.weight"
    return Module(
        f"{_NAME}LMHeadModel",
        bert=_text_model(c, context, pooling=False),
        cls=encoders.bert_mlm_head(c, _NAME, table=table, at=f"{at}cls.predictions"),
    )


def _width(c: ModelConfig) -> Dim:
    return hidden(c.section("vision_config").with_defaults(**_VISION))


def _text(c: ModelConfig) -> ModelConfig:
    return tied_section(c).with_defaults(**_TEXT)


def _words(c: ModelConfig) -> Dim:
    return hidden(_text(c))


def _projected(width: Callable[[ModelConfig], Dim], key: str, size: int, *, bias: bool) -> Part:
    """Into the space that texts and images share."""
    return lambda c: Linear(
        width(c), c.dim(key, default=size), bias=bias, component=Component.PROJECTOR
    )


_SEEN: dict[str, Part] = {"vision_model": within("vision_config", vision_model)}
_READ: dict[str, Part] = {"text_encoder": lambda c: _text_model(_text(c), _width(c), pooling=False)}
_SAID: dict[str, Part] = {"text_decoder": lambda c: _text_decoder(_text(c), _width(c))}
_CLASSES: dict[str, dict[str, Part]] = {
    "BlipForConditionalGeneration": {**_SEEN, **_SAID},
    "BlipModel": {
        "logit_scale": lambda _: Weight(kind="scale"),
        "text_model": lambda c: _text_model(_text(c), _width(c)),
        **_SEEN,
        "visual_projection": _projected(_width, "projection_dim", 512, bias=False),
        "text_projection": _projected(_words, "projection_dim", 512, bias=False),
    },
    "BlipForQuestionAnswering": {**_SEEN, **_READ, **_SAID},
    "BlipForImageTextRetrieval": {
        **_SEEN,
        **_READ,
        "vision_proj": _projected(_width, "image_text_hidden_size", 256, bias=True),
        "text_proj": _projected(_words, "image_text_hidden_size", 256, bias=True),
        "itm_head": lambda c: classifier(_words(c), 2),
    },
}
_context = size("encoder_hidden_size", default=768)
_TEXTS = {
    "BlipTextLMHeadModel": lambda c: _text_decoder(c, _context(c), at=""),
    "BlipTextModel": lambda c: _text_model(c, _context(c)),
}


def _only_vision(c: ModelConfig) -> Module:
    whole = c.has("vision_config") or c.model_type == "blip"
    return vision_model(c.section("vision_config") if whole else c)


register("blip", composed(_CLASSES), category="multimodal")
register_part("blip_vision_model", "BlipVisionModel", _only_vision, "vision")
register(
    "blip_text_model", with_defaults(_TEXT, _TEXTS), base="BlipTextModel", base_prefix="bert",
    category="encoder",
)  # fmt: skip
