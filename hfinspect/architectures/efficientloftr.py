"""Efficient LoFTR (Wang et al. 2024). Source of shapes: transformers/models/efficientloftr.

RepVGG makes maps of two images; their coarsest attend within and across the images, at a quarter of
the places; finer maps then make the matches exact.
"""

from itertools import pairwise

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from ..layers.blocks import activation, size
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

_hidden = size("hidden_size", default=256)


def _widths(c: ModelConfig) -> tuple[Dim, ...]:
    found = c.dims("out_features", default=(64, 64, 128, 256))
    if not found or found[-1] != _hidden(c):
        raise c.error("out_features", c.raw("out_features"), f"{int(_hidden(c))} as the last")
    return found


def _normed(inputs: Dim, outputs: Dim, kernel: int, stride: int) -> Module:
    return Module(
        "EfficientLoFTRConvNormLayer",
        conv=Conv(inputs, outputs, kernel, bias=False, stride=stride),
        norm=BatchNorm(outputs),
        activation=Activation("Identity"),
    )


def _block(c: ModelConfig, inputs: Dim, outputs: Dim, stride: int) -> Module:
    return Module(
        "EfficientLoFTRRepVGGBlock",
        conv1=_normed(inputs, outputs, 3, stride),
        conv2=_normed(inputs, outputs, 1, stride),
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
        stages.append(Module("EfficientLoFTRRepVGGStage", blocks=ModuleList(blocks)))
        inputs = width
    return Module("EfficientLoFTRepVGG", stages=Layers(stages))


def _attention(c: ModelConfig) -> Module:
    h, kernel = _hidden(c), c.dim("q_aggregation_kernel_size", default=4)
    heads, bias = c.dim("num_attention_heads", default=8), c.flag("attention_bias", default=False)
    head = c.dim("head_dim", default=h // heads)
    width, narrow = heads * head, c.dim("num_key_value_heads", default=heads) * head
    inner = c.dim("intermediate_size", default=2 * h)
    return Module(
        "EfficientLoFTRAggregatedAttention",
        aggregation=Module(
            "EfficientLoFTRAggregationLayer",
            q_aggregation=Conv(h, h, kernel, groups=h, bias=False, component=Component.ATTENTION),
            kv_aggregation=Activation("MaxPool2d"),
            norm=LayerNorm(h),
        ),
        attention=Module(
            "EfficientLoFTRAttention",
            q_proj=Linear(h, width, bias=bias, kind="query"),
            k_proj=Linear(h, narrow, bias=bias, kind="key"),
            v_proj=Linear(h, narrow, bias=bias, kind="value"),
            o_proj=Linear(width, h, bias=bias, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            "EfficientLoFTRMLP",
            fc1=Linear(2 * h, inner, bias=False, kind="up"),
            activation=activation(c.text("mlp_activation_function", default="leaky_relu")),
            fc2=Linear(inner, h, bias=False, kind="down"),
            layer_norm=LayerNorm(h),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    attention = _attention(c)
    layer = Module(
        "EfficientLoFTRLocalFeatureTransformerLayer",
        self_attention=attention,
        cross_attention=attention,
    )
    count = c.count("num_attention_layers", default=4)
    return Module(
        "EfficientLoFTRModel",
        backbone=_backbone(c),
        local_feature_transformer=Module(
            "EfficientLoFTRLocalFeatureTransformer", layers=Layers.of(count, layer)
        ),
        rotary_emb=Activation("EfficientLoFTRRotaryEmbedding"),
        part="vision",
    )


def _finer(c: ModelConfig, coarse: Dim, fine: Dim) -> Module:
    return Module(
        "EfficientLoFTROutConvBlock",
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
        "EfficientLoFTRForKeypointMatching",
        efficientloftr=model(c),
        refinement_layer=Module(
            "EfficientLoFTRFineFusionLayer",
            out_conv=Conv(widths[0], widths[0], 1, bias=False),
            out_conv_layers=ModuleList(finer),
            component=Component.CONV,
        ),
        part="vision",
    )


register(
    "efficientloftr",
    {"EfficientLoFTRForKeypointMatching": matching, "EfficientLoFTRModel": model},
    base_prefix="efficientloftr",
    category="vision",
)
