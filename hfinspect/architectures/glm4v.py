"""GLM-4.1V (Zhipu 2025). Source of shapes: transformers/models/glm4v/modeling_glm4v.py.

A ViT over space and time with RMS norms and gated MLPs, a strided convolution that joins 2x2
patches, and a gated merger (all a trace); GLM-4's decoder with norms before and after attention
and MLP.
"""

from ..core.config import ModelConfig
from ..layers.blocks import Heads, grouped_attention, rms_norms
from ..layers.decoders import Decoder, fused_mlp, pre_norm
from ..layers.multimodal import register_worded
from ..trees.catalog import builder, register_part
from ..trees.modules import Module
from .llama import LLAMA

_norm = rms_norms("Glm4vRMSNorm", 1e-5)


# ---- text


def glm_norms(d: Decoder, c: ModelConfig, kind: str) -> Module:
    """A norm before and after each half of a layer, under GLM-4's names."""
    block = pre_norm(d, c, kind)
    for name in ("post_self_attn_layernorm", "post_mlp_layernorm"):
        block.children[name] = d.norm(d, c, d.width(c))
    return block


def _attention(d: Decoder, c: ModelConfig) -> Module:
    found = d.heads(c)
    heads = Heads(found.query, found.kv, d.width(c) // found.query)
    return grouped_attention("Glm4vTextAttention", d.width(c), heads, bias=True, out_bias=False)


_TEXT = LLAMA.like(
    "Glm4vText", vocab_size=151552, intermediate_size=13696, num_hidden_layers=40,
    num_key_value_heads=2, norm=lambda _d, c, size: _norm(c, size), attention=_attention,
    mlp=fused_mlp, layer=glm_norms,
)  # fmt: skip
text_model = _TEXT.model


# ---- together


def base(c: ModelConfig) -> Module:
    return Module(
        "Glm4vModel",
        visual=builder("Glm4vVisionModel")(c.section("vision_config")),
        language_model=text_model(c.section("text_config")),
    )


register_worded("glm4v", "Glm4v", base, tied=False, text_ties=True)
register_part("glm4v_text", "Glm4vTextModel", text_model, "text decoder")
