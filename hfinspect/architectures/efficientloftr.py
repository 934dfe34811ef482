"""Efficient LoFTR (Wang et al. 2024): coarse maps of two images attend within and across the
images, at a quarter of the places; finer maps make the matches exact. Source:
transformers/models/efficientloftr."""

from functools import partial
from itertools import pairwise

from ..core.config import MAX_COUNT
from ..layers.blocks import activation, grouped_attention, grouped_heads, size, two_layer_mlp
from ..layers.deformable import conv_norm
from ..trees import Component, Dim, ModelConfig, exact, register
from ..trees.modules import Activation, BatchNorm, Conv, LayerNorm, Layers, Module, ModuleList

_NAME = "EfficientLoFTR"
_hidden = size("hidden_size", default=256)


def _widths(c: ModelConfig) -> tuple[Dim, ...]:
    widths = c.dims("out_features", default=(64, 64, 128, 256), least=1)
    if widths[-1] != _hidden(c):
        raise c.error("out_features", c.raw("out_features"), f"{int(_hidden(c))} as the last")
    return widths


def _backbone(c: ModelConfig) -> Module:
    widths = _widths(c)
    read = partial(c.dims, count=len(_widths(c)))
    counts = read("stage_num_blocks", default=(1, 2, 4, 14), minimum=0, maximum=MAX_COUNT)
    strides = read("stage_stride", default=(2, 1, 2, 2))
    inputs = exact(1), *widths[:-1]
    outputs = [[int(width)] * int(count) for width, count in zip(widths, counts, strict=True)]
    inward = [[int(one), *sizes[:-1]] for one, sizes in zip(inputs, outputs, strict=True)]
    # What the config class computes stands in saved files, and there comes first.
    steps = [[int(one), *[1] * (int(n) - 1)] for one, n in zip(strides, counts, strict=True)]
    computed = {
        "stage_block_out_channels": outputs,
        "stage_block_in_channels": inward,
        "stage_block_stride": steps,
    }
    for key, value in computed.items():
        if c.has(key) and c.raw(key) != value:
            raise c.error(key, c.raw(key), f"{value}, as the other keys say")
    act = activation(c.text("activation_function", default="relu"))
    stages = []

    def block(inputs: Dim, outputs: Dim, stride: int) -> Module:
        three, one = (conv_norm(_NAME, inputs, outputs, kernel, None) for kernel in (3, 1))
        same = BatchNorm(inputs) if inputs == outputs and stride == 1 else None
        parts = {"conv1": three, "conv2": one}
        return Module(f"{_NAME}RepVGGBlock", parts, identity=same, activation=act)

    for before, width, count, stride in zip(inputs, widths, counts, strides, strict=True):
        rest = [block(width, width, 1)] * (int(count) - 1)
        blocks = ModuleList([block(before, width, stride), *rest][: int(count)])
        stages.append(Module(f"{_NAME}RepVGGStage", blocks=blocks))
    return Module("EfficientLoFTRepVGG", stages=Layers(stages))


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    kernel = c.dim("q_aggregation_kernel_size", default=4)
    inner = c.dim("intermediate_size", default=2 * h)
    bias = c.flag("attention_bias", default=False)
    act = c.text("mlp_activation_function", default="leaky_relu")
    heads = grouped_heads(c, h, heads=8)
    make_mlp = partial(two_layer_mlp, f"{_NAME}MLP", act=act, act_name="activation")
    queries = Conv(h, h, kernel, groups=h, bias=False, component=Component.ATTENTION)
    fewer = {"q_aggregation": queries, "kv_aggregation": Activation("MaxPool2d")}
    parts = {"aggregation": Module(f"{_NAME}AggregationLayer", fewer, norm=LayerNorm(h))}
    parts["attention"] = grouped_attention(f"{_NAME}Attention", h, heads, bias=bias)
    parts["mlp"] = make_mlp(2 * h, inner, out=h, bias=False).adding(layer_norm=LayerNorm(h))
    look = Module(f"{_NAME}AggregatedAttention", parts)
    name = f"{_NAME}LocalFeatureTransformer"
    layer = Module(f"{name}Layer", self_attention=look, cross_attention=look)
    layers = Layers.of(c.count("num_attention_layers", default=4), layer)
    parts = {"backbone": _backbone(c), "local_feature_transformer": Module(name, layers=layers)}
    rotary = Activation(f"{_NAME}RotaryEmbedding")
    return Module(f"{_NAME}Model", parts, rotary_emb=rotary, part="vision")


def matching(c: ModelConfig) -> Module:
    widths = c.dims("fine_fusion_dims", default=_widths(c)[:0:-1], least=1)
    act = activation(c.text("mlp_activation_function", default="leaky_relu"))
    to = partial(Conv, bias=False)

    def finer(coarse: Dim, fine: Dim) -> Module:
        convs = {"out_conv1": to(fine, coarse, 1), "out_conv2": to(coarse, coarse, 3)}
        after = {"batch_norm": BatchNorm(coarse), "activation": act}
        last = to(coarse, fine, 3)
        return Module(f"{_NAME}OutConvBlock", {**convs, **after}, out_conv3=last)

    layers = ModuleList(finer(*both) for both in pairwise(widths))
    refining = {"out_conv": to(widths[0], widths[0], 1), "out_conv_layers": layers}
    refined = Module(f"{_NAME}FineFusionLayer", refining, component=Component.CONV)
    parts = {"efficientloftr": model(c), "refinement_layer": refined}
    return Module(f"{_NAME}ForKeypointMatching", parts, part="vision")


_CLASSES = {f"{_NAME}ForKeypointMatching": matching, f"{_NAME}Model": model}
register("efficientloftr", _CLASSES, base_prefix="efficientloftr", category="vision")
