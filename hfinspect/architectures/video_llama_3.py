"""VideoLLaMA 3 (Zhang et al. 2025; transformers/models/video_llama_3). A SigLIP tower (a trace)
with rotary positions, for images of any size, two layers, and Qwen2."""

from ..layers.multimodal import Joined, linear_row, projector
from ..trees import Dim, ModelConfig, Module


def _projector(j: Joined, _c: ModelConfig, width: Dim, text: Dim) -> Module:
    return projector(f"{j.name}Projector", readout=linear_row((width, text, text)))


Joined(
    "VideoLlama3",
    "video_llama_3_vision",
    "qwen2",
    projector=_projector,
    tied=False,
    text_ties=True,
    towers=("vision_model",),
    project="projector",
    inside=True,
).register("video_llama_3")
