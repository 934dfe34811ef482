"""AIMv2 (Fini et al. 2024). Source of shapes: transformers/models/aimv2/modeling_aimv2.py.

Encoders of images and texts with RMS norms and gated MLPs; a query of its own pools the image.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp
from ..layers.vision import clip_attention, pair, patch_conv, position_table
from ..trees.catalog import register, register_part
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm, Weight


def _norm(c: ModelConfig, h: Dim) -> Module:
    return RMSNorm(h, eps=c.number("rms_norm_eps", default=1e-5), class_name="Aimv2RMSNorm")


def _encoder(c: ModelConfig, h: Dim, inner: int, depth: int) -> Module:
    act, width = c.text("hidden_act", default="silu"), c.dim("intermediate_size", default=inner)
    bias = c.flag("mlp_bias", default=False)
    layer = Module(
        "Aimv2EncoderLayer",
        attention=clip_attention("Aimv2Attention", h, bias=c.flag("qkv_bias", default=False)),
        ffn=gated_mlp("Aimv2MLP", h, width, bias=bias, act=act),
        rms_norm1=_norm(c, h),
        rms_norm2=_norm(c, h),
    )
    layers = Layers.of(c.count("num_hidden_layers", default=depth), layer)
    return Module("Aimv2Encoder", layers=layers)


def vision_model(c: ModelConfig) -> Module:
    h, bias = c.dim("hidden_size", default=1024), c.flag("qkv_bias", default=False)
    image, patch = c.dim("image_size", default=224), pair(c, "patch_size", default=14)
    side, native = image // patch[0], c.flag("is_native", default=False)
    head = Module(
        "Aimv2AttentionPoolingHead",
        cls_token=Weight(1, 1, h, component=Component.EMBEDDING, kind="class_token"),
        k_proj=Linear(h, h, bias=bias, kind="key"),
        v_proj=Linear(h, h, bias=bias, kind="value"),
        output_proj=Linear(h, h, kind="output"),
        component=Component.HEAD,
    )
    return Module(
        "Aimv2VisionModel",
        embeddings=Module(
            "Aimv2VisionEmbeddings",
            patch_embed=patch_conv(c.dim("num_channels", default=3), h, patch),
            rms_norm=_norm(c, h),
            position_embedding=None if native else position_table(side * side, h),
            component=Component.EMBEDDING,
        ),
        encoder=_encoder(c, h, 2816, 24),
        rms_norm=_norm(c, h),
        head=head if c.flag("use_head", default=True) else None,
        part="vision",
    )


def text_model(c: ModelConfig) -> Module:
    h, words = c.dim("hidden_size", default=768), c.dim("vocab_size", default=49408)
    return Module(
        "Aimv2TextModel",
        embeddings=Module(
            "Aimv2TextEmbeddings",
            token_embedding=Embedding(words, h),
            position_embedding=position_table(c.dim("max_position_embeddings", default=77), h),
        ),
        encoder=_encoder(c, h, 2048, 12),
        rms_norm=_norm(c, h),
    )


def model(c: ModelConfig) -> Module:
    vision, text = c.section("vision_config"), c.section("text_config")
    width = c.dim("projection_dim", default=512)

    def projection(section: ModelConfig, default: int) -> Module:
        h = section.dim("hidden_size", default=default)
        return Linear(h, width, bias=False, component=Component.PROJECTOR)

    return Module(
        "Aimv2Model",
        vision_model=vision_model(vision),
        text_model=text_model(text),
        visual_projection=projection(vision, 1024),
        text_projection=projection(text, 768),
        logit_scale=Weight(kind="scale"),
    )


register_part("aimv2_vision_model", "Aimv2VisionModel", vision_model, "vision")
register_part("aimv2_text_model", "Aimv2TextModel", text_model, "encoder")
register("aimv2", {"Aimv2Model": model}, base="Aimv2Model", category="multimodal")
