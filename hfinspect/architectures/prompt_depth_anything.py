"""Prompt Depth Anything (Lin et al. 2024): each fusion layer of Depth Anything also reads a coarse
depth map. Source: transformers/models/prompt_depth_anything."""

from ..core.config import ModelConfig
from ..trees.catalog import register
from ..trees.modules import Activation, Conv, Module
from .depth_anything import estimator


def model(c: ModelConfig) -> Module:
    fused, relu = c.dim("fusion_hidden_size", default=64), Activation("ReLU")
    prompted = Module(
        "PromptDepthAnythingLayer",
        convolution1=Conv(1, fused, 3),
        activation1=relu,
        convolution2=Conv(fused, fused, 3),
        activation2=relu,
        convolution3=Conv(fused, fused, 3),
    )
    return estimator(c, "PromptDepthAnything", prompted)


register(
    "prompt_depth_anything", {"PromptDepthAnythingForDepthEstimation": model}, category="vision"
)
