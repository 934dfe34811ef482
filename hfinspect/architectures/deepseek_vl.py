"""DeepSeek-VL (Lu et al. 2024), the smaller model (transformers/models/deepseek_vl). SigLIP, two
linear layers, Llama. The larger one (deepseek_vl_hybrid) has a second tower, SAM's."""

from ..layers.multimodal import Joined, projector
from ..trees import Activation, Dim, Linear, ModelConfig, Module


def _aligner(_j: Joined, _: ModelConfig, width: Dim, text: Dim) -> Module:
    return projector(
        "DeepseekVLAligner",
        linear1=Linear(width, text),
        activation=Activation("GELU"),
        linear2=Linear(text, text),
    )


Joined(
    "DeepseekVL",
    "siglip_vision_model",
    "llama",
    projector=_aligner,
    towers=("vision_model",),
    project="aligner",
    inside=True,
).register("deepseek_vl")
