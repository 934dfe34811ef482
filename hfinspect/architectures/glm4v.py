"""GLM-4.1V (Zhipu 2025): a ViT (a trace), and GLM-4's decoder with norms before and after attention
and MLP. Source of shapes: transformers/models/glm4v/modeling_glm4v.py."""

from ..layers.blocks import Heads, grouped_attention
from ..layers.decoders import Decoder, adding, fused_mlp, normed, norms_called, pre_norm
from ..layers.multimodal import register_worded, seeing
from ..trees import ModelConfig, Module, config_defaults
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    counts = d.heads(c)
    heads = Heads(counts.query, counts.kv, d.width(c) // counts.query)
    return grouped_attention("Glm4vTextAttention", d.width(c), heads, bias=True, out_bias=False)


GLM4V = LLAMA.like(
    "Glm4vText",
    **config_defaults("glm4v"),
    norm=norms_called("Glm4vRMSNorm"),
    attention=_attention,
    mlp=fused_mlp,
    layer=adding(pre_norm, post_self_attn_layernorm=normed, post_mlp_layernorm=normed),
)
_PARTS = seeing("Glm4vVisionModel", GLM4V.model)
register_worded("glm4v", "Glm4v", _PARTS, tied=False, text_ties=True, alone=GLM4V.model)
