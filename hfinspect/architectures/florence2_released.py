"""Florence-2 as released (Xiao et al. 2023), its code its own. Source of shapes:
modeling_florence2.py in microsoft/Florence-2-large.

DaViT, whose stages alternate attention in windows with attention between channels, each block
between two depthwise convolutions; a projection into BART, with learned positions of rows and
columns. The form that transformers converts it to is another tree: florence2.py.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, fused_attention
from ..layers.vision import bounded
from ..trees.catalog import auto_class
from ..trees.modules import (
    Buffer,
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Weight,
)

_STAGES = {
    "dim_embed": (256, 512, 1024, 2048),
    "depths": (1, 1, 9, 1),
    "patch_size": (7, 3, 3, 3),
}


def _listed(c: ModelConfig, key: str) -> tuple[Dim, ...]:
    found = c.dims(key, default=_STAGES[key])
    if len(found) != len(c.dims("dim_embed", default=_STAGES["dim_embed"])):
        raise c.error(key, f"{len(found)} entries", "one for each of dim_embed")
    return bounded(c, key, found) if key == "depths" else found


def _depthwise(h: Dim) -> Module:
    dw = Conv(h, h, 3, groups=int(h))
    return Module("PreNorm", fn=Module("DepthWiseConv2d", dw=dw))


def _half(class_name: str, at: str, attention: str, h: Dim, *, bias: bool) -> Module:
    """Convolution, attention, convolution, MLP; each with what stands before it."""
    return Module(
        class_name,
        {
            "conv1": _depthwise(h),
            at: Module(
                "PreNorm",
                norm=LayerNorm(h),
                fn=fused_attention(attention, h, bias=bias),
            ),
            "conv2": _depthwise(h),
            "ffn": Module(
                "PreNorm",
                norm=LayerNorm(h),
                fn=Module(
                    "Mlp",
                    net=Module(
                        "Sequential",
                        fc1=Linear(h, 4 * h, kind="up"),
                        act=activation("gelu"),
                        fc2=Linear(4 * h, h, kind="down"),
                    ),
                    component=Component.MLP,
                ),
            ),
        },
    )


def davit(c: ModelConfig) -> Module:
    widths = _listed(c, "dim_embed")
    patches = _listed(c, "patch_size")
    before = c.flags("patch_prenorm", default=(False, *[True] * (len(widths) - 1)))
    if len(before) != len(widths):
        raise c.error("patch_prenorm", f"{len(before)} entries", "one for each of dim_embed")
    bias = c.flag("qkv_bias", default=True)
    convs, stages = [], []
    inputs = c.dim("in_chans", default=3)
    for width, patch, first, depth in zip(
        widths, patches, before, _listed(c, "depths"), strict=True
    ):
        convs.append(
            Module(
                "ConvEmbed",
                proj=Conv(
                    inputs, width, (patch, patch), component=Component.EMBEDDING, kind="patch"
                ),
                norm=LayerNorm(inputs if first else width),
            )
        )
        block = Module(
            "MySequential",
            spatial_block=_half("SpatialBlock", "window_attn", "WindowAttention", width, bias=bias),
            channel_block=_half(
                "ChannelBlock", "channel_attn", "ChannelAttention", width, bias=bias
            ),
        )
        stages.append(Layers([block] * int(depth), class_name="MySequential"))
        inputs = width
    return Module("DaViT", convs=ModuleList(convs), blocks=ModuleList(stages), part="vision")


def _positions(c: ModelConfig, width: Dim) -> dict[str, Module]:
    """Half of the width for rows, the rest for columns; images of a video by a fixed cosine."""
    grid, time = c.section("image_pos_embed"), c.section("visual_temporal_embedding")
    count, frames = (
        grid.dim("max_pos_embeddings", default=50),
        time.dim("max_temporal_embeddings", default=100),
    )
    half = width // 2
    return {
        "image_pos_embed": Module(
            "LearnedAbsolutePositionEmbedding2D",
            row_embeddings=Embedding(count, half, kind="position"),
            column_embeddings=Embedding(count, width - half, kind="position"),
            part="vision",
        ),
        "visual_temporal_embed": Module(
            "PositionalEmbeddingCosine1D",
            pos_idx_to_embed=Buffer(frames, width, kind="position"),
            component=Component.EMBEDDING,
            part="vision",
        ),
    }


def is_released(c: ModelConfig) -> bool:
    """Its own names for the widths of DaViT and for the parts."""
    vision, text = c.section("vision_config"), c.section("text_config")
    return (
        vision.has("dim_embed")
        or vision.model_type == "davit"
        or text.model_type == "florence2_language"
    )


def conditional_generation(c: ModelConfig) -> Module:
    vision, text = c.section("vision_config"), c.section("text_config")
    width = _listed(vision, "dim_embed")[-1]
    out = vision.dim("projection_dim", default=1024)
    language = ModelConfig({**text.values, "model_type": "bart"}, text.path)
    return Module(
        "Florence2ForConditionalGeneration",
        {
            "image_projection": Weight(width, out, component=Component.PROJECTOR),
            "vision_tower": davit(vision),
            **_positions(vision, width),
            "image_proj_norm": LayerNorm(out),
            "language_model": auto_class(language, "ForConditionalGeneration"),
        },
    )
