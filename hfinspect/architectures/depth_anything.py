"""Depth Anything (Yang et al. 2024): DPT's neck over DINOv2. Source:
transformers/models/depth_anything."""

from functools import partial

from ..layers.reassembling import depth_head, fused_width, fusion_layer, neck, reassembled
from ..trees import ModelConfig, Module, auto_class, register


def estimator(config: ModelConfig, name: str, prompted: Module | None = None) -> Module:
    """``prompted`` is what each fusion layer has in addition."""
    # Its residual blocks know no norm, whatever the config says.
    plain = {"use_batch_norm_in_fusion_residual": False, "use_bias_in_fusion_residual": True}
    c = config.with_defaults(fusion_hidden_size=64).with_values(**plain)
    usual = {"image_size": 518, "hidden_size": 384, "num_attention_heads": 6}  # DINOv2 small
    section = c.section("backbone_config", default=usual)
    fused = fused_width(c)
    widths = c.dims("neck_hidden_sizes", default=(48, 96, 192, 384))
    layers = reassembled(name, c, c.dim("reassemble_hidden_size", default=384), widths)
    stage = Module(f"{name}ReassembleStage", layers=layers)
    fusion = fusion_layer(c, name).adding(prompt_depth_layer=prompted)
    return Module(
        f"{name}ForDepthEstimation",
        backbone=auto_class(section, "Backbone", default_type="dinov2", part="vision"),
        neck=neck(name, stage, widths, fused, fusion),
        head=depth_head(name, fused, c.dim("head_hidden_size", default=32)),
        part="vision",
    )


_CLASSES = {"DepthAnythingForDepthEstimation": partial(estimator, name="DepthAnything")}
register("depth_anything", _CLASSES, category="vision")
