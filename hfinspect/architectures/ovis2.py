"""Ovis 2 (Lu et al. 2024). Source of shapes: transformers/models/ovis2/modeling_ovis2.py.

AIMv2's ViT, whose output is a probability of visual words; a table of those words stands next
to the decoder's.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp
from ..layers.heads import to_words
from ..layers.multimodal import decoder
from ..layers.vision import clip_attention, pair, patch_conv, patch_count, position_table
from ..trees.catalog import register, register_part
from ..trees.modules import Embedding, LayerNorm, Layers, Linear, Module, RMSNorm

_NAME = "Ovis2"


def _norm(c: ModelConfig, h: Dim) -> Module:
    return RMSNorm(h, eps=c.number("rms_norm_eps", default=1e-5), class_name=f"{_NAME}RMSNorm")


def _layer(c: ModelConfig, h: Dim) -> Module:
    inner, act = c.dim("intermediate_size", default=2816), c.text("hidden_act", default="silu")
    bias = c.flag("mlp_bias", default=False)
    return Module(
        f"{_NAME}VisionEncoderLayer",
        attention=clip_attention(
            f"{_NAME}VisionAttention", h, bias=c.flag("qkv_bias", default=False)
        ),
        ffn=gated_mlp(f"{_NAME}MLP", h, inner, bias=bias, act=act),
        rms_norm1=_norm(c, h),
        rms_norm2=_norm(c, h),
    )


def _words(c: ModelConfig) -> Dim:
    return c.dim("vocab_size", default=16384)


def vision_model(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=1024)
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=14)
    layers = Layers.of(c.count("num_hidden_layers", default=24), _layer(c, h))
    stride = c.dim("hidden_stride", default=1)
    wide = h * stride * stride
    written = _words(c) - c.dim("num_visual_indicator_tokens", default=5, minimum=0)
    if written < 1:
        raise c.error("vocab_size", int(_words(c)), "more than the tokens that mark an image")
    return Module(
        f"{_NAME}VisionModel",
        transformer=Module(
            f"{_NAME}VisionTransformer",
            embeddings=Module(
                f"{_NAME}VisionEmbeddings",
                patch_embedding=patch_conv(c.dim("num_channels", default=3), h, patch),
                position_embedding=position_table(patch_count(image, patch), h),
                rms_norm=_norm(c, h),
                component=Component.EMBEDDING,
            ),
            encoder=Module(f"{_NAME}VisionEncoder", layers=layers),
            rms_norm=_norm(c, h),
        ),
        head_linear=Linear(wide, written, bias=False, component=Component.HEAD),
        head_norm=LayerNorm(written),
        part="vision",
    )


def _width(c: ModelConfig) -> Dim:
    """Of the visual words and the head: the config's own, whatever the text model's is."""
    return c.dim("hidden_size", default=1536)


def base(c: ModelConfig) -> Module:
    vision = c.section("vision_config")
    return Module(
        f"{_NAME}Model",
        vision_tower=vision_model(vision),
        language_model=decoder(c, "qwen2").base,
        visual_embeddings_table=Embedding(
            _words(vision), _width(c), class_name=f"{_NAME}VisualEmbeddingTable"
        ),
    )


def generation(c: ModelConfig) -> Module:
    to = "model.language_model.embed_tokens.weight" if c.tied() else None
    head = to_words(_width(c), c.dim("vocab_size", default=151643), to)
    return Module(f"{_NAME}ForConditionalGeneration", model=base(c), lm_head=head)


register(
    "ovis2",
    {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": base},
    base=f"{_NAME}Model",
    base_prefix="model",
    category="multimodal",
)
register_part("ovis2_vision", f"{_NAME}VisionModel", vision_model, "vision")
