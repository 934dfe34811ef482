"""Efficient LoFTR (Wang et al. 2024): coarse maps of two images attend within and across the
images, at a quarter of the places; finer maps make the matches exact. Source:
transformers/models/efficientloftr."""

from functools import partial
from itertools import pairwise

from ..core.components import Component
from ..core.config import MAX_COUNT, ModelConfig, exact
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads, size, two_layer_mlp
from ..layers.deformable import conv_norm
from ..trees.catalog import register
from ..trees.modules import Activation, BatchNorm, Conv, LayerNorm, Layers, Module, ModuleList

_NAME = "EfficientLoFTR"
_hidden = size("hidden_size", default=256)


def _widths(c: ModelConfig) -> tuple[Dim, ...]:
    found = c.dims("out_features", default=(64, 64, 128, 256), least=1)
    if found[-1] != _hidden(c):
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


def _backbone(c: ModelConfig) -> Module:
    widths, read = _widths(c), partial(c.dims, count=len(_widths(c)))
    counts = read("stage_num_blocks", default=(1, 2, 4, 14), minimum=0, maximum=MAX_COUNT)
    strides = read("stage_stride", default=(2, 1, 2, 2))
    inputs = exact(1), *widths[:-1]
    outputs = [[int(width)] * int(count) for width, count in zip(widths, counts, strict=True)]
    inward = [[int(one), *sizes[:-1]] for one, sizes in zip(inputs, outputs, strict=True)]
    # What the config class computes stands in saved files, and there comes first.
    for key, said in (("stage_block_out_channels", outputs), ("stage_block_in_channels", inward)):
        if c.has(key) and c.raw(key) != said:
            raise c.error(key, c.raw(key), f"{said}, as the other keys say")
    made = []
    for before, width, count, stride in zip(inputs, widths, counts, strides, strict=True):
        first, rest = _block(c, before, width, int(stride)), _block(c, width, width, 1)
        blocks = ModuleList([first, *[rest] * (int(count) - 1)][: int(count)])
        made.append(Module(f"{_NAME}RepVGGStage", blocks=blocks))
    return Module("EfficientLoFTRepVGG", stages=Layers(made))


def _attention(c: ModelConfig) -> Module:
    h, kernel = _hidden(c), c.dim("q_aggregation_kernel_size", default=4)
    inner, bias = c.dim("intermediate_size", default=2 * h), c.flag("attention_bias", default=False)
    act = c.text("mlp_activation_function", default="leaky_relu")
    look = grouped_attention(f"{_NAME}Attention", h, grouped_heads(c, h, heads=8), bias=bias)
    made = partial(two_layer_mlp, f"{_NAME}MLP", act=act, act_name="activation")
    mlp = made(2 * h, inner, out=h, bias=False).adding(layer_norm=LayerNorm(h))
    queries = Conv(h, h, kernel, groups=h, bias=False, component=Component.ATTENTION)
    fewer = {"q_aggregation": queries, "kv_aggregation": Activation("MaxPool2d")}
    aggregation = Module(f"{_NAME}AggregationLayer", fewer, norm=LayerNorm(h))
    name = f"{_NAME}AggregatedAttention"
    return Module(name, aggregation=aggregation, attention=look, mlp=mlp)


def model(c: ModelConfig) -> Module:
    look, name = _attention(c), f"{_NAME}LocalFeatureTransformer"
    layer = Module(f"{name}Layer", self_attention=look, cross_attention=look)
    layers = Layers.of(c.count("num_attention_layers", default=4), layer)
    parts = {"backbone": _backbone(c), "local_feature_transformer": Module(name, layers=layers)}
    rotary = Activation(f"{_NAME}RotaryEmbedding")
    return Module(f"{_NAME}Model", parts, rotary_emb=rotary, part="vision")


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
    widths = c.dims("fine_fusion_dims", default=_widths(c)[:0:-1], least=1)
    first = Conv(widths[0], widths[0], 1, bias=False)
    finer = ModuleList(_finer(c, *both) for both in pairwise(widths))
    refined = Module(f"{_NAME}FineFusionLayer", out_conv=first, out_conv_layers=finer)
    refined.component = Component.CONV
    parts = {"efficientloftr": model(c), "refinement_layer": refined}
    return Module(f"{_NAME}ForKeypointMatching", parts, part="vision")


_CLASSES = {f"{_NAME}ForKeypointMatching": matching, f"{_NAME}Model": model}
register("efficientloftr", _CLASSES, base_prefix="efficientloftr", category="vision")
