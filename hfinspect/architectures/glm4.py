"""GLM-4-0414 (GLM Team 2025; transformers/models/glm4). GLM with a norm after attention and after
the MLP as well."""

from ..layers.decoders import Decoder, pre_norm
from ..trees import ModelConfig, Module
from .glm import GLM


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block = pre_norm(d, c, kind)
    for name in ("post_self_attn_layernorm", "post_mlp_layernorm"):
        block.children[name] = d.norm(d, c, d.width(c))
    return block


GLM.like("Glm4", layer=_layer).register("glm4")
