"""Florence-2 (Xiao et al. 2023). Source of shapes: transformers/models/florence2.
DaViT, which attends within windows of patches and then among channels, a projection with learned
rows and columns, and BART. As released, with code of its own: florence2_released.py."""

from functools import partial
from itertools import pairwise

from ..core.config import MAX_COUNT, MAX_DIM
from ..layers.blocks import fused_attention
from ..layers.composing import composed
from ..layers.heads import causal_lm
from ..layers.multimodal import any_model, projector, within
from ..layers.vision import plain_mlp, scaled
from ..trees import Component, Dim, ModelConfig, register_pair, register_part
from ..trees import modules as nn
from ..trees.backbone_stages import MAX_STAGES
from . import florence2_released

_NAME = "Florence2"


def _widths(c: ModelConfig) -> tuple[Dim, ...]:
    return c.dims("embed_dim", default=(128, 256, 512, 1024), least=1, most=MAX_STAGES)


def _half(c: ModelConfig, h: Dim, kind: str, looks: str) -> nn.Module:
    inner = scaled(c, h, "mlp_ratio", default=4.0)
    bias = c.flag("qkv_bias", default=True)
    act = c.text("activation_function", default="gelu")
    norm = nn.LayerNorm(h)
    look = fused_attention(f"{_NAME}Vision{looks}Attention", h, bias=bias)
    conv = nn.Conv(h, h, 3, groups=h)
    mlp = plain_mlp(f"{_NAME}VisionMLP", h, inner, act=act)
    parts = {"conv1": conv, "norm1": norm, f"{looks.lower()}_attn": look}
    parts |= {"conv2": conv, "norm2": norm, "ffn": mlp}
    return nn.Module(f"{_NAME}Vision{kind}Block", parts)


def _backbone(c: ModelConfig) -> nn.Module:
    widths = _widths(c)

    def listed(key: str, *usual: int, most: int = MAX_DIM) -> tuple[Dim, ...]:
        return c.dims(key, default=usual, minimum=0, maximum=most, least=len(widths))

    kernels = listed("patch_size", 7, 3, 3, 3)
    strides = listed("patch_stride", 4, 2, 2, 2)
    depths = listed("depths", 1, 1, 9, 1, most=MAX_COUNT)
    first = c.flags("patch_prenorm", default=(False, True, True, True))
    if len(first) < len(widths):
        raise c.miscounted("patch_prenorm", len(first), f"{len(widths)}")
    rungs = []
    stages = []
    for i, (before, h) in enumerate(pairwise((c.dim("in_channels", default=3), *widths))):
        patches = nn.Conv(before, h, kernels[i], stride=strides[i], kind="patch")
        norm = nn.LayerNorm(before if first[i] else h)
        rungs.append(nn.Module(f"{_NAME}VisionConvEmbed", conv=patches, norm=norm))
        spatial = _half(c, h, "Spatial", "Window")
        channel = _half(c, h, "Channel", "Channel")
        both = nn.Module(f"{_NAME}VisionBlock", spatial_block=spatial, channel_block=channel)
        stages.append(nn.ModuleList([both] * int(depths[i])))
    name = f"{_NAME}VisionBackbone"
    convs = nn.ModuleList(rungs)
    return nn.Module(name, convs=convs, blocks=nn.Layers(stages), part="vision")


def _projector(c: ModelConfig) -> nn.Module:
    width = _widths(c)[-1]
    out = c.dim("projection_dim", default=1024)
    count = c.dim("max_position_embeddings", default=50)
    half = width // 2
    table = partial(nn.Embedding, count, component=Component.PROJECTOR, kind="position")
    grid = {"row_embeddings": table(half), "column_embeddings": table(width - half)}
    time = nn.Buffer(c.dim("max_temporal_embeddings", default=100), width)
    cosine = nn.Module(f"{_NAME}VisionPositionalEmbeddingCosine1D", pos_idx_to_embed=time)
    return projector(
        f"{_NAME}MultiModalProjector",
        image_projection=nn.Linear(width, out, bias=False),
        image_proj_norm=nn.LayerNorm(out),
        image_position_embed=nn.Module(f"{_NAME}VisionLearnedAbsolutePositionEmbedding2D", grid),
        visual_temporal_embed=cosine,
    )


_PARTS = {
    "vision_tower": within("vision_config", _backbone),
    "multi_modal_projector": within("vision_config", _projector),
    "language_model": any_model("text_config", "bart"),
}
_model = composed({f"{_NAME}Model": _PARTS})[f"{_NAME}Model"]
_WHOLE = "ForConditionalGeneration"
_CONVERTED = causal_lm(_NAME + _WHOLE, _model, embedding="language_model.shared", tied_default=True)


def _generation(c: ModelConfig) -> nn.Module:
    released = florence2_released.is_released(c)
    return florence2_released.conditional_generation(c) if released else _CONVERTED(c)


register_pair("florence2", _NAME, _generation, _model, "multimodal")
register_part("florence_vision", f"{_NAME}VisionBackbone", _backbone, "vision")
