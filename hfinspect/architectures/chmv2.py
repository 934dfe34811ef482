"""CHMv2 (Meta 2026), heights of tree canopies: DPT's head over DINOv3, and a value for each bin of
heights. Source: transformers/models/chmv2/modeling_chmv2.py."""

from ..layers import reassembling
from ..layers.reassembling import as_head, fused_width, fusion_layer
from ..trees import Component, ModelConfig, auto_class, config_defaults, register
from ..trees.modules import Activation, Conv, Module, ModuleList

_BACKBONE = config_defaults("chmv2")


def model(config: ModelConfig) -> Module:
    section = config.section("backbone_config", default=_BACKBONE)
    c = config.with_values(backbone_config=section.file_values)
    kind = str(_BACKBONE["model_type"])
    backbone = auto_class(section, "Backbone", default_type=kind, part="vision")
    hidden = section.dim("hidden_size", default=384)
    widths = c.dims("post_process_channels", default=(128, 256, 512, 1024))
    reassembling.reassemble_factors(c, len(widths))
    fused = fused_width(c)
    inner = c.dim("head_hidden_size", default=128)
    first = fusion_layer(c, "CHMv2").without("residual_layer1")
    later = fusion_layer(c, "CHMv2")
    larger = (Conv(fused, fused // 2, 3), Activation("Upsample"), Conv(fused // 2, inner, 3))
    last = Conv(inner, c.dim("number_output_channels", default=256), 1)
    convolutions = [*larger, Activation("ReLU"), last]
    root = Module(
        "CHMv2Head",
        reassemble_stage=reassembling.reassemble_stage(c, "CHMv2", hidden, widths),
        convs=ModuleList(Conv(width, fused, 3, bias=False) for width in widths),
        fusion_layers=ModuleList([first, *[later] * (len(widths) - 1)]),
        conv_depth=Module("CHMv2UpsampleConvHead", head=ModuleList(convolutions)),
        component=Component.CONV,
    )
    return Module("CHMv2ForDepthEstimation", backbone=backbone, head=as_head(root), part="vision")


register("chmv2", {"CHMv2ForDepthEstimation": model}, category="vision")
