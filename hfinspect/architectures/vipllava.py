"""ViP-LLaVA (Cai et al. 2023; transformers/models/vipllava). LLaVA that looks at five layers of the
tower side by side, normed. File names: multimodal.py."""

from ..layers.multimodal import Joined, two_linears
from ..trees import Dim, LayerNorm, ModelConfig, Module
from .llava import LLAVA


def _projector(_j: Joined, c: ModelConfig, width: Dim, text: Dim) -> Module:
    layers = c.raw("vision_feature_layer", "vision_feature_layers")
    count = 5 if layers is None else len(layers) if isinstance(layers, list) else 1
    if not count:
        raise c.error("vision_feature_layer", layers, "one layer at least")
    name = "VipLlavaMultiModalProjector"
    inputs = count * width
    norm = LayerNorm(inputs, eps=c.number("projector_layernorm_eps", default=1e-5))
    return two_linears(name, c, inputs, text, text, projector_layernorm=norm)


LLAVA.like("VipLlava", projector=_projector, text_ties=False).register("vipllava")
