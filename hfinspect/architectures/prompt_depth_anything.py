"""Prompt Depth Anything (Lin et al. 2024): each fusion layer of Depth Anything also reads a coarse
depth map. Source: transformers/models/prompt_depth_anything."""

from ..trees import Activation, Conv, ModelConfig, Module, register
from .depth_anything import estimator


def model(c: ModelConfig) -> Module:
    fused = c.dim("fusion_hidden_size", default=64)
    parts = dict[str, Module]()
    for i, inputs in enumerate((1, fused, fused), 1):
        parts[f"convolution{i}"] = Conv(inputs, fused, 3)
        parts |= {f"activation{i}": Activation("ReLU")} if i < 3 else {}
    prompted = Module("PromptDepthAnythingLayer", parts)
    return estimator(c, "PromptDepthAnything", prompted)


_NAME = "PromptDepthAnythingForDepthEstimation"
register("prompt_depth_anything", {_NAME: model}, category="vision")
