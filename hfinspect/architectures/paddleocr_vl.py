"""PaddleOCR-VL (Baidu 2025). Source of shapes: transformers/models/paddleocr_vl.

A SigLIP tower with 2D rotary positions, a projector over 2x2 patches, and ERNIE 4.5's decoder. File
names are those of the first release: the decoder is ``model``, the projector ``mlp_AR``.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.decoders import Decoder
from ..layers.heads import to_words
from ..layers.multimodal import projector
from ..layers.vision import clip_encoder, clip_layer, patch_conv, position_table
from ..trees.catalog import register
from ..trees.modules import Activation, LayerNorm, Linear, Module
from .llama import LLAMA

_NAME = "PaddleOCR"


# ---- vision


def vision_model(c: ModelConfig) -> Module:
    h, patch = c.dim("hidden_size", default=1152), c.dim("patch_size", default=14)
    side = c.dim("image_size", default=384) // patch
    eps = c.number("layer_norm_eps", default=1e-6)
    layer = clip_layer(
        f"{_NAME}Vision",
        h,
        c.dim("intermediate_size", default=4304),
        eps=eps,
        act=c.text("hidden_act", default="gelu_pytorch_tanh"),
    )
    tower = Module(
        f"{_NAME}VisionTransformer",
        embeddings=Module(
            f"{_NAME}VisionEmbeddings",
            patch_embedding=patch_conv(c.dim("num_channels", default=3), h, (patch, patch)),
            position_embedding=position_table(side * side, h),
            component=Component.EMBEDDING,
        ),
        encoder=clip_encoder(f"{_NAME}Vision", c.count("num_hidden_layers", default=27), layer),
        post_layernorm=LayerNorm(h, eps=eps),
    )
    return Module(f"{_NAME}VisionModel", vision_model=tower, part="vision")


def _projector(c: ModelConfig, hidden: Dim) -> Module:
    width, side = c.dim("hidden_size", default=1152), c.dim("spatial_merge_size", default=2)
    joined = width * side * side
    return projector(
        f"{_NAME}Projector",
        pre_norm=LayerNorm(width),
        linear_1=Linear(joined, joined),
        act=Activation("GELUActivation"),
        linear_2=Linear(joined, hidden),
    )


# ---- text


def _attention(d: Decoder, c: ModelConfig) -> Module:
    # A head_dim that is written down as null divides the hidden size.
    divides = "head_dim" in c.values and not c.has("head_dim")
    heads = grouped_heads(c, d.width(c), heads=16, kv=2, head_dim=None if divides else 128)
    bias = c.flag("use_bias", default=False)
    return grouped_attention("PaddleOCRAttention", d.width(c), heads, bias=bias)


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    bias = c.flag("use_bias", default=False)
    return gated_mlp("PaddleOCRMLP", d.width(c), d.inner(c), bias=bias, act=d.act(c))


_TEXT = LLAMA.like(
    "PaddleOCR",
    vocab_size=103424,
    hidden_size=1024,
    intermediate_size=3072,
    num_hidden_layers=18,
    rms_norm_eps=1e-5,
    attention=_attention,
    mlp=_mlp,
)


def text_model(c: ModelConfig) -> Module:
    base = _TEXT.model(c)
    base.class_name = "PaddleOCRTextModel"
    return base


# ---- together


def _text(c: ModelConfig) -> ModelConfig:
    """The first release has the decoder's keys at the top."""
    return c.section("text_config") if c.has("text_config") else c


def generation(c: ModelConfig) -> Module:
    text, vision = _text(c), c.section("vision_config")
    tied = c.tied() or text.tied()
    head = to_words(
        _TEXT.width(text),
        text.dim("vocab_size", default=103424),
        "model.embed_tokens.weight" if tied else None,
    )
    decoder = text_model(text)
    decoder.class_name = f"{_NAME}VLModel"  # what stands there in memory
    return Module(
        f"{_NAME}VLForConditionalGeneration",
        visual=vision_model(vision),
        mlp_AR=_projector(vision, _TEXT.width(text)),
        model=decoder,
        lm_head=head,
    )


def base(c: ModelConfig) -> Module:
    """A save of it alone has the names of transformers' own attributes."""
    text, vision = _text(c), c.section("vision_config")
    return Module(
        f"{_NAME}VLModel",
        visual=vision_model(vision),
        projector=_projector(vision, _TEXT.width(text)),
        language_model=text_model(text),
    )


register(
    "paddleocr_vl",
    {f"{_NAME}VLForConditionalGeneration": generation, f"{_NAME}VLModel": base},
    base=f"{_NAME}VLForConditionalGeneration",
    aliases={
        "model.language_model.": "model.",
        "model.visual.": "visual.",
        "model.projector.": "mlp_AR.",
    },
    category="multimodal",
)
