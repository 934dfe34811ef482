"""Florence-2 (Xiao et al. 2023). Source of shapes: transformers/models/florence2.

DaViT, which attends within windows of patches and then among channels, a projection with learned
rows and columns, and BART. As released, with code of its own: florence2_released.py.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import fused_attention
from ..layers.heads import to_words
from ..layers.vision import bounded, plain_mlp, scaled
from ..trees.catalog import auto_model, register_pair, register_part
from ..trees.modules import (
    Buffer,
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
)
from . import florence2_released

_NAME = "Florence2"
_MAX_STAGES = 32


def _widths(c: ModelConfig) -> tuple[Dim, ...]:
    found = c.dims("embed_dim", default=(128, 256, 512, 1024))
    if not 1 <= len(found) <= _MAX_STAGES:
        raise c.error("embed_dim", c.raw("embed_dim"), f"1 to {_MAX_STAGES} stages")
    return found


def _stages(c: ModelConfig, key: str, default: tuple[int, ...]) -> tuple[Dim, ...]:
    found = c.dims(key, default=default, minimum=0)
    if len(found) < len(_widths(c)):
        raise c.error(key, c.raw(key), f"{len(_widths(c))} entries, one per stage")
    return found


# ---- vision


def embedder(c: ModelConfig, stage: int) -> Module:
    widths = _widths(c)
    before = widths[stage - 1] if stage else c.dim("in_channels", default=3)
    kernel = _stages(c, "patch_size", (7, 3, 3, 3))[stage]
    stride = _stages(c, "patch_stride", (4, 2, 2, 2))[stage]
    first = c.flags("patch_prenorm", default=(False, True, True, True))
    if len(first) < len(widths):
        raise c.error("patch_prenorm", c.raw("patch_prenorm"), f"{len(widths)} entries")
    patches = Conv(before, widths[stage], kernel, stride=stride, kind="patch")
    norm = LayerNorm(before if first[stage] else widths[stage])
    return Module(f"{_NAME}VisionConvEmbed", conv=patches, norm=norm)


def _block(c: ModelConfig, h: Dim, kind: str, attention: str) -> Module:
    """Two convolutions per channel, one attention, one MLP."""
    inner = scaled(c, h, "mlp_ratio", default=4.0)
    act = c.text("activation_function", default="gelu")
    return Module(
        f"{_NAME}Vision{kind}Block",
        {
            "conv1": Conv(h, h, 3, groups=h),
            "norm1": LayerNorm(h),
            attention: fused_attention(
                f"{_NAME}Vision{'Window' if kind == 'Spatial' else kind}Attention",
                h,
                bias=c.flag("qkv_bias", default=True),
            ),
            "conv2": Conv(h, h, 3, groups=h),
            "norm2": LayerNorm(h),
            "ffn": plain_mlp(f"{_NAME}VisionMLP", h, inner, act=act),
        },
    )


def block(c: ModelConfig, h: Dim) -> Module:
    return Module(
        f"{_NAME}VisionBlock",
        spatial_block=_block(c, h, "Spatial", "window_attn"),
        channel_block=_block(c, h, "Channel", "channel_attn"),
    )


def backbone(c: ModelConfig) -> Module:
    widths = _widths(c)
    depths = bounded(c, "depths", _stages(c, "depths", (1, 1, 9, 1)))
    stages = [ModuleList([block(c, h)] * int(depths[i])) for i, h in enumerate(widths)]
    return Module(
        f"{_NAME}VisionBackbone",
        convs=ModuleList([embedder(c, i) for i in range(len(widths))]),
        blocks=Layers(stages),
        part="vision",
    )


# ---- together


def _positions(count: Dim, width: Dim) -> Module:
    return Embedding(count, width, component=Component.PROJECTOR, kind="position")


def projector(c: ModelConfig) -> Module:
    width, out = _widths(c)[-1], c.dim("projection_dim", default=1024)
    positions = c.dim("max_position_embeddings", default=50)
    half = width // 2
    return Module(
        f"{_NAME}MultiModalProjector",
        image_projection=Linear(width, out, bias=False),
        image_proj_norm=LayerNorm(out),
        image_position_embed=Module(
            f"{_NAME}VisionLearnedAbsolutePositionEmbedding2D",
            row_embeddings=_positions(positions, half),
            column_embeddings=_positions(positions, width - half),
        ),
        visual_temporal_embed=Module(
            f"{_NAME}VisionPositionalEmbeddingCosine1D",
            pos_idx_to_embed=Buffer(c.dim("max_temporal_embeddings", default=100), width),
        ),
        component=Component.PROJECTOR,
        part="projector",
    )


def base(c: ModelConfig) -> Module:
    vision = c.section("vision_config")
    return Module(
        f"{_NAME}Model",
        vision_tower=backbone(vision),
        multi_modal_projector=projector(vision),
        language_model=auto_model(c.section("text_config"), default_type="bart"),
    )


def generation(c: ModelConfig) -> Module:
    if florence2_released.is_released(c):
        return florence2_released.conditional_generation(c)
    model = base(c)
    vocab, hidden = model.inside("language_model", "shared").tensor().shape
    head = to_words(hidden, vocab, "model.language_model.shared.weight" if c.tied() else None)
    return Module(f"{_NAME}ForConditionalGeneration", model=model, lm_head=head)


register_pair("florence2", _NAME, generation, base, "multimodal")
register_part("florence_vision", f"{_NAME}VisionBackbone", backbone, "vision")
