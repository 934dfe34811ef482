"""X-CLIP (Ni et al. 2022). Source of shapes: transformers/models/x_clip/modeling_x_clip.py.

CLIP for videos: the frames of a video send each other messages in every layer of the vision tower,
a small transformer joins them, and what they show changes the vectors of the texts.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.vision import (
    clip_attention,
    clip_encoder,
    clip_layer,
    patch_conv,
    position_table,
    text_embeddings,
)
from ..trees.catalog import register, register_part
from ..trees.modules import (
    Buffer,
    Dropout,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Sequential,
    Weight,
)
from .clip import text_section, vision_section


def _eps(c: ModelConfig) -> float:
    return c.number("layer_norm_eps", default=1e-5)


def _layer(c: ModelConfig, width: Dim, inner: Dim) -> Module:
    act = c.text("hidden_act", default="quick_gelu")
    return clip_layer("XCLIP", width, inner, eps=_eps(c), act=act)


def _text_width(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=512)


def _width(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def text_model(config: ModelConfig) -> Module:
    c = text_section(config)
    h = _text_width(c)
    layer = _layer(c, h, c.dim("intermediate_size", default=2048))
    return Module(
        "XCLIPTextModel",
        embeddings=text_embeddings("XCLIP", c, h),
        encoder=clip_encoder("XCLIP", c.count("num_hidden_layers", default=12), layer),
        final_layer_norm=LayerNorm(h, eps=_eps(c)),
        part="text",
    )


def _vision_layer(c: ModelConfig) -> Module:
    """CLIP's, and a message of each frame to all others."""
    h = _width(c)
    layer = _layer(c, h, c.dim("intermediate_size", default=3072))
    layer.class_name = "XCLIPVisionEncoderLayer"
    layer.children |= {
        "message_fc": Linear(h, h, component=Component.ATTENTION),
        "message_ln": LayerNorm(h, eps=_eps(c)),
        "message_attn": clip_attention("XCLIPAttention", h),
    }
    return layer


def vision_model(config: ModelConfig) -> Module:
    c = vision_section(config)
    h = _width(c)
    patch = c.dim("patch_size", default=32)
    side = c.dim("image_size", default=224) // patch
    layers = Layers.of(c.count("num_hidden_layers", default=12), _vision_layer(c))
    return Module(
        "XCLIPVisionModel",
        embeddings=Module(
            "XCLIPVisionEmbeddings",
            class_embedding=Weight(h, kind="class_token"),
            patch_embedding=patch_conv(
                c.dim("num_channels", default=3), h, (patch, patch), bias=False
            ),
            position_embedding=position_table(side * side + 1, h),
            position_ids=Buffer(1, side * side + 1, dtype="I64", saved=False),
            component=Component.EMBEDDING,
        ),
        encoder=Module("XCLIPVisionEncoder", layers=layers),
        post_layernorm=LayerNorm(h, eps=_eps(c)),
        pre_layernorm=LayerNorm(h, eps=_eps(c)),
        part="vision",
    )


def _joining(c: ModelConfig) -> Module:
    h = c.dim("mit_hidden_size", default=512)
    layer = _layer(c, h, c.dim("mit_intermediate_size", default=2048))
    frames = c.dim("num_frames", default=8)
    return Module(
        "XCLIPMultiframeIntegrationTransformer",
        position_embedding=Weight(1, frames, h, kind="position", component=Component.EMBEDDING),
        encoder=clip_encoder("XCLIP", c.count("mit_num_hidden_layers", default=1), layer),
        part="vision",
    )


def _prompt_layer(c: ModelConfig, width: Dim, eps: float) -> Module:
    dropped = c.number("prompt_attention_dropout", default=0.0)
    across = clip_attention("XCLIPCrossAttention", width, bias=False)
    del across.children["out_proj"]
    across.children |= {
        "proj": Linear(width, width, kind="output"),
        "proj_drop": Dropout(c.number("prompt_projection_dropout", default=0.0)),
    }
    return Module(
        "PromptGeneratorLayer",
        cross_attn=across,
        norm1=LayerNorm(width, eps=eps),
        norm3=LayerNorm(width, eps=eps),
        mlp=Sequential(
            Linear(width, 4 * width, kind="up"),
            activation(c.text("prompt_hidden_act", default="quick_gelu")),
            Dropout(dropped),
            Linear(4 * width, width, kind="down"),
            component=Component.MLP,
        ),
    )


def both(c: ModelConfig) -> Module:
    text, vision = (c.section(f"{key}_dict", key) for key in ("text_config", "vision_config"))
    width, h = c.dim("projection_dim", default=512), _width(vision)
    count = c.count("prompt_layers", default=2)
    layer = _prompt_layer(c, width, _eps(text))
    return Module(
        "XCLIPModel",
        logit_scale=Weight(kind="scale"),
        prompts_visual_projection=Weight(h, width, component=Component.PROJECTOR),
        text_model=text_model(text),
        vision_model=vision_model(vision),
        visual_projection=Linear(h, width, bias=False, component=Component.PROJECTOR),
        text_projection=Linear(_text_width(text), width, bias=False, component=Component.PROJECTOR),
        prompts_visual_layernorm=LayerNorm(h, eps=_eps(vision)),
        mit=_joining(vision),
        prompts_generator=Module(
            "XCLIPPromptGenerator",
            alpha=Weight(width, kind="scale"),
            layernorm=LayerNorm(width, eps=_eps(vision)),
            decoder=Layers.of(count, layer),
        ),
    )


register("xclip", {"XCLIPModel": both}, base="XCLIPModel", category="multimodal")
register_part("xclip_text_model", "XCLIPTextModel", text_model, "encoder")
register_part("xclip_vision_model", "XCLIPVisionModel", vision_model, "vision")
