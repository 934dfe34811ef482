"""Efficient LoFTR (Wang et al. 2024). Source of shapes: transformers/models/efficientloftr.

RepVGG makes maps of two images; their coarsest attend within and across the images, at a quarter of
the places; finer maps then make the matches exact.
"""

from itertools import pairwise

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads, size, two_layer_mlp
from ..layers.deformable import conv_norm
from ..layers.vision import bounded
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    BatchNorm,
    Conv,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
)

_NAME = "EfficientLoFTR"

_hidden = size("hidden_size", default=256)


def _widths(c: ModelConfig) -> tuple[Dim, ...]:
    found = c.dims("out_features", default=(64, 64, 128, 256))
    if not found or found[-1] != _hidden(c):
        raise c.error("out_features", c.raw("out_features"), f"{int(_hidden(c))} as the last")
    return found


def _block(c: ModelConfig, inputs: Dim, outputs: Dim, stride: int) -> Module:
    return Module(
        f"{_NAME}RepVGGBlock",
        conv1=conv_norm(_NAME, inputs, outputs, 3, None),
        conv2=conv_norm(_NAME, inputs, outputs, 1, None),
        identity=BatchNorm(inputs) if inputs == outputs and stride == 1 else None,
        activation=activation(c.text("activation_function", default="relu")),
    )


def _as_computed(c: ModelConfig, key: str, found: list[list[int]]) -> None:
    """What the config class computes stands in saved files, and there comes first."""
    if c.has(key) and c.raw(key) != found:
        raise c.error(key, c.raw(key), f"{found}, as the other keys say")


def _backbone(c: ModelConfig) -> Module:
    widths = _widths(c)
    counts = c.dims("stage_num_blocks", default=(1, 2, 4, 14), minimum=0)
    strides = c.dims("stage_stride", default=(2, 1, 2, 2))
    for key, found in (("stage_num_blocks", counts), ("stage_stride", strides)):
        if len(found) != len(widths):
            raise c.error(key, c.raw(key), f"{len(widths)} entries, as many as out_features")
    outputs = [[int(width)] * int(count) for width, count in zip(widths, counts, strict=True)]
    _as_computed(c, "stage_block_out_channels", outputs)
    before = [1, *(int(width) for width in widths)]
    inward = [[first, *sizes[:-1]] for first, sizes in zip(before, outputs, strict=False)]
    _as_computed(c, "stage_block_in_channels", inward)
    inputs = exact(1)
    stages = []
    for width, count, stride in zip(
        widths, bounded(c, "stage_num_blocks", counts), strides, strict=True
    ):
        first = _block(c, inputs, width, int(stride))
        blocks = [first, *[_block(c, width, width, 1)] * (int(count) - 1)] if count else []
        stages.append(Module(f"{_NAME}RepVGGStage", blocks=ModuleList(blocks)))
        inputs = width
    return Module("EfficientLoFTRepVGG", stages=Layers(stages))


def _attention(c: ModelConfig) -> Module:
    h, kernel = _hidden(c), c.dim("q_aggregation_kernel_size", default=4)
    inner, bias = c.dim("intermediate_size", default=2 * h), c.flag("attention_bias", default=False)
    act = c.text("mlp_activation_function", default="leaky_relu")
    look = grouped_attention(f"{_NAME}Attention", h, grouped_heads(c, h, heads=8), bias=bias)
    mlp = two_layer_mlp(f"{_NAME}MLP", 2 * h, inner, act=act, bias=False, act_name="activation")
    mlp.children |= {"fc2": Linear(inner, h, bias=False, kind="down"), "layer_norm": LayerNorm(h)}
    return Module(
        f"{_NAME}AggregatedAttention",
        aggregation=Module(
            f"{_NAME}AggregationLayer",
            q_aggregation=Conv(h, h, kernel, groups=h, bias=False, component=Component.ATTENTION),
            kv_aggregation=Activation("MaxPool2d"),
            norm=LayerNorm(h),
        ),
        attention=look,
        mlp=mlp,
    )


def model(c: ModelConfig) -> Module:
    look, name = _attention(c), f"{_NAME}LocalFeatureTransformer"
    layer = Module(f"{name}Layer", self_attention=look, cross_attention=look)
    layers = Layers.of(c.count("num_attention_layers", default=4), layer)
    return Module(
        f"{_NAME}Model",
        backbone=_backbone(c),
        local_feature_transformer=Module(name, layers=layers),
        rotary_emb=Activation(f"{_NAME}RotaryEmbedding"),
        part="vision",
    )


def _finer(c: ModelConfig, coarse: Dim, fine: Dim) -> Module:
    return Module(
        f"{_NAME}OutConvBlock",
        out_conv1=Conv(fine, coarse, 1, bias=False),
        out_conv2=Conv(coarse, coarse, 3, bias=False),
        batch_norm=BatchNorm(coarse),
        activation=activation(c.text("mlp_activation_function", default="leaky_relu")),
        out_conv3=Conv(coarse, fine, 3, bias=False),
    )


def matching(c: ModelConfig) -> Module:
    widths = c.dims("fine_fusion_dims", default=_widths(c)[:0:-1])
    if not widths:
        raise c.error("out_features", c.raw("out_features"), "two stages at least")
    finer = [_finer(c, *both) for both in pairwise(widths)]
    return Module(
        f"{_NAME}ForKeypointMatching",
        efficientloftr=model(c),
        refinement_layer=Module(
            f"{_NAME}FineFusionLayer",
            out_conv=Conv(widths[0], widths[0], 1, bias=False),
            out_conv_layers=ModuleList(finer),
            component=Component.CONV,
        ),
        part="vision",
    )


register(
    "efficientloftr",
    {f"{_NAME}ForKeypointMatching": matching, f"{_NAME}Model": model},
    base_prefix="efficientloftr",
    category="vision",
)
