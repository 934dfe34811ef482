"""GLM-4-0414 (GLM Team 2025; transformers/models/glm4): GLM with four norms a layer."""

from ..layers.decoders import adding, normed, pre_norm
from .glm import GLM

_LAYER = adding(pre_norm, post_self_attn_layernorm=normed, post_mlp_layernorm=normed)
GLM.like("Glm4", layer=_LAYER).register("glm4")
