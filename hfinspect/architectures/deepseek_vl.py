"""DeepSeek-VL (Lu et al. 2024), the smaller model (transformers/models/deepseek_vl). SigLIP, two
linear layers, Llama. The larger one (deepseek_vl_hybrid) has a second tower, SAM's."""

from ..layers.multimodal import Joined, two_linears
from ..trees import Activation, Dim, ModelConfig, Module


def _aligner(_j: Joined, c: ModelConfig, width: Dim, text: Dim) -> Module:
    act = Activation("GELU")
    names = ("linear1", "activation", "linear2")
    return two_linears("DeepseekVLAligner", c, width, text, text, act=act, names=names)


Joined(
    "DeepseekVL",
    "siglip_vision_model",
    "llama",
    projector=_aligner,
    towers=("vision_model",),
    project="aligner",
    inside=True,
).register("deepseek_vl")
