"""DINOv3's ConvNeXt (Siméoni et al. 2025). Source: transformers/models/dinov3_convnext.

ConvNeXt, whose stem is the first stage's downsampling. In memory the stages are in a module
``model``, in files they are not (conversion_mapping.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.vision import stage_depths
from ..trees.catalog import register
from ..trees.modules import Activation, Conv, LayerNorm, Layers, Linear, Module, ModuleList, Weight


def _sizes(c: ModelConfig) -> tuple[Dim, ...]:
    found = c.dims("hidden_sizes", default=(96, 192, 384, 768))
    if not 0 < len(found) <= len(stage_depths(c, (3, 3, 9, 3))):
        raise c.error("hidden_sizes", c.raw("hidden_sizes"), "one for each entry of depths")
    return found


def _norm(c: ModelConfig, width: Dim) -> Module:
    eps = c.number("layer_norm_eps", default=1e-6)
    return LayerNorm(width, eps=eps, class_name="DINOv3ConvNextLayerNorm")


def _layer(c: ModelConfig, width: Dim) -> Module:
    return Module(
        "DINOv3ConvNextLayer",
        gamma=Weight(width, kind="scale", component=Component.OTHER),
        depthwise_conv=Conv(width, width, 7, groups=width),
        layer_norm=_norm(c, width),
        pointwise_conv1=Linear(width, 4 * width, kind="up"),
        activation_fn=activation(c.text("hidden_act", default="gelu")),
        pointwise_conv2=Linear(4 * width, width, kind="down"),
        component=Component.CONV,
    )


def _stages(c: ModelConfig) -> Layers:
    inputs, stages = c.dim("num_channels", default=3), []
    for i, (width, depth) in enumerate(zip(_sizes(c), stage_depths(c, (3, 3, 9, 3)), strict=False)):
        stem = [Conv(inputs, width, 4, stride=4), _norm(c, width)]
        down = [_norm(c, inputs), Conv(inputs, width, 2, stride=2)] if i else stem
        stage = Module(
            "DINOv3ConvNextStage",
            downsample_layers=ModuleList(down),
            layers=ModuleList([_layer(c, width)] * int(depth)),
        )
        stages.append(stage)
        inputs = width
    return Layers(stages)


def model(c: ModelConfig) -> Module:
    norm = LayerNorm(_sizes(c)[-1], eps=c.number("layer_norm_eps", default=1e-6))
    return Module(
        "DINOv3ConvNextModel",
        stages=_stages(c),
        layer_norm=norm,
        pool=Activation("AdaptiveAvgPool2d"),
        part="vision",
    )


def backbone(c: ModelConfig) -> Module:
    return Module("DINOv3ConvNextBackbone", stages=_stages(c), part="vision")


register(
    "dinov3_convnext",
    {"DINOv3ConvNextModel": model, "DINOv3ConvNextBackbone": backbone},
    category="vision",
)
