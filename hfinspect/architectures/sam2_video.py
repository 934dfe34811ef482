"""SAM 2 (Ravi et al. 2024) on videos, with the memory that SAM 3's tracker has.
Source of shapes: transformers/models/sam2_video/modeling_sam2_video.py."""

from ..trees import ModelConfig, Module, register
from . import sam2, sam3_tracker


def model(c: ModelConfig) -> Module:
    return sam3_tracker.parts("Sam2Video", c, "sam2_vision_model")


register("sam2_video", {"Sam2VideoModel": model, "Sam2Model": sam2.model}, category="vision")
