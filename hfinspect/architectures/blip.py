"""BLIP (Li et al. 2022). Source: transformers/models/blip/modeling_blip.py, modeling_blip_text.py.

A ViT with fused q, k, v, and BERT with cross-attention to the image: as decoder (captions), as
encoder (retrieval), as both (question answering).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.blocks import fused_attention, size
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, hidden
from ..layers.vision import clip_encoder, clip_layer, pair, patch_conv, patch_count
from ..trees.catalog import register, register_part
from ..trees.modules import LayerNorm, Linear, Module, Weight

# ---- vision, shared with BLIP-2

#: Sizes of BLIP's; BLIP-2 has others.
_VISION = {
    "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "image_size": 384,
    "patch_size": 16, "layer_norm_eps": 1e-5,
}  # fmt: skip


def vision_model(c: ModelConfig, name: str = "Blip", *, bias: bool = True) -> Module:
    c = c.with_defaults(**_VISION)
    h, eps = hidden(c), c.number("layer_norm_eps", default=1e-5)
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


# ---- text

_NAME = "BlipText"
_TEXT = {**BASE, "vocab_size": 30524, "num_attention_heads": 8}


def text_model(c: ModelConfig, context: Dim, *, pooling: bool = True) -> Module:
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


def text_decoder(c: ModelConfig, context: Dim, at: str = "text_decoder.") -> Module:
    """BERT with its masked-LM head, which writes the text word by word."""
    table = f"{at}bert.embeddings.word_embeddings.weight"
    return Module(
        f"{_NAME}LMHeadModel",
        bert=text_model(c, context, pooling=False),
        cls=encoders.bert_mlm_head(c, _NAME, table=table, at=f"{at}cls.predictions"),
    )


# ---- together


def _parts(c: ModelConfig) -> tuple[ModelConfig, Dim, Module]:
    """The text's config, the width of the vision tower, and that tower."""
    text, vision = c.section("text_config"), c.section("vision_config").with_defaults(**_VISION)
    # Either key suffices: the decoder inside ties as well.
    ties = {"tie_word_embeddings": c.tied(default=True) or text.tied(default=True)}
    tied = ModelConfig({**text.given, **ties}, text.path, text.kind)
    return tied.with_defaults(**_TEXT), hidden(vision), vision_model(vision)


def generation(c: ModelConfig) -> Module:
    text, width, vision = _parts(c)
    return Module(
        "BlipForConditionalGeneration",
        vision_model=vision,
        text_decoder=text_decoder(text, width),
    )


def question_answering(c: ModelConfig) -> Module:
    text, width, vision = _parts(c)
    return Module(
        "BlipForQuestionAnswering",
        vision_model=vision,
        text_encoder=text_model(text, width, pooling=False),
        text_decoder=text_decoder(text, width),
    )


def retrieval(c: ModelConfig) -> Module:
    text, width, vision = _parts(c)
    shared = c.dim("image_text_hidden_size", default=256)
    return Module(
        "BlipForImageTextRetrieval",
        vision_model=vision,
        text_encoder=text_model(text, width, pooling=False),
        vision_proj=Linear(width, shared, component=Component.PROJECTOR),
        text_proj=Linear(hidden(text), shared, component=Component.PROJECTOR),
        itm_head=Linear(hidden(text), 2, component=Component.HEAD, kind="classifier"),
    )


def both(c: ModelConfig) -> Module:
    text, width, vision = _parts(c)
    shared = c.dim("projection_dim", default=512)
    return Module(
        "BlipModel",
        logit_scale=Weight(kind="scale"),
        text_model=text_model(text, width),
        vision_model=vision,
        visual_projection=Linear(width, shared, bias=False, component=Component.PROJECTOR),
        text_projection=Linear(hidden(text), shared, bias=False, component=Component.PROJECTOR),
    )


_context = size("encoder_hidden_size", default=768)


def only_vision(c: ModelConfig) -> Module:
    whole = c.has("vision_config") or c.model_type == "blip"
    return vision_model(c.section("vision_config") if whole else c)


register(
    "blip",
    {
        "BlipForConditionalGeneration": generation,
        "BlipModel": both,
        "BlipForQuestionAnswering": question_answering,
        "BlipForImageTextRetrieval": retrieval,
    },
    category="multimodal",
)
register_part("blip_vision_model", "BlipVisionModel", only_vision, "vision")
register(
    "blip_text_model",
    with_defaults(
        _TEXT,
        {
            "BlipTextLMHeadModel": lambda c: text_decoder(c, _context(c), at=""),
            "BlipTextModel": lambda c: text_model(c, _context(c)),
        },
    ),
    base="BlipTextModel",
    base_prefix="bert",
    category="encoder",
)
