"""Florence-2 as released (Xiao et al. 2023), its code its own. Source of shapes:
modeling_florence2.py in microsoft/Florence-2-large.

DaViT, whose stages alternate attention in windows with attention between channels, each block
between two depthwise convolutions; a projection into BART, with learned positions of rows and
columns. The form that transformers converts it to is another tree: florence2.py.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import respelled
from ..trees.catalog import auto_class, builder
from ..trees.modules import Buffer, Embedding, LayerNorm, Layers, Module, ModuleList, Weight

#: DaViT's keys -> those of transformers' tower, and their values by default.
_KEYS = {"dim_embed": "embed_dim", "in_chans": "in_channels"}
_STAGES = {"dim_embed": (256, 512, 1024, 2048), "depths": (1, 1, 9, 1)}


def _half(class_name: str, attention: str, half: Module) -> Module:
    """Convolution, attention, convolution, MLP; each with what stands before it."""

    def depthwise(at: str) -> Module:
        return Module("PreNorm", fn=Module("DepthWiseConv2d", dw=half[at]))

    attend = half.inside(attention)
    net = Module("Sequential", dict(half.inside("ffn").children))
    mlp = Module("Mlp", net=net, component=Component.MLP)
    parts = {
        "conv1": depthwise("conv1"),
        attention: Module("PreNorm", norm=half["norm1"], fn=attend),
        "conv2": depthwise("conv2"),
        "ffn": Module("PreNorm", norm=half["norm2"], fn=mlp),
    }
    return Module(class_name, dict(parts))


def _block(block: Module) -> Module:
    spatial, channel = block.inside("spatial_block"), block.inside("channel_block")
    return Module(
        "MySequential",
        spatial_block=_half("SpatialBlock", "window_attn", spatial),
        channel_block=_half("ChannelBlock", "channel_attn", channel),
    )


def davit(c: ModelConfig) -> Module:
    """transformers' tower, put together in another way."""
    c = c.with_defaults(**_STAGES)
    said = {_KEYS.get(key, key): value for key, value in c.values.items()}
    tower = builder("Florence2VisionBackbone")(ModelConfig(said, c.path))
    convs = respelled(tower.inside("convs"), {"conv": "proj"})
    for conv in convs.children.values():
        assert isinstance(conv, Module)
        conv.inside("proj").component = Component.EMBEDDING
    stages = [
        Layers([_block(block) for block in stage.children.values() if isinstance(block, Module)])
        for stage in tower.inside("blocks").children.values()
        if isinstance(stage, Module)
    ]
    for stage in stages:
        stage.class_name = "MySequential"
    return Module("DaViT", convs=convs, blocks=ModuleList(stages), part="vision")


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
    width = vision.dims("dim_embed", default=_STAGES["dim_embed"])[-1]
    out = vision.dim("projection_dim", default=1024)
    language = text.with_values(model_type="bart")
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
