"""Pixtral's vision tower (Agrawal et al. 2024), built like Llama. Source:
transformers/models/pixtral. Whole Pixtral models are of type llava (12B) or mistral3, with this
tower inside."""

from ..core.config import ModelConfig
from ..layers.blocks import gated_mlp
from ..layers.vision import clip_attention, pair, patch_conv
from ..trees.catalog import register_part
from ..trees.modules import Activation, Layers, Module, RMSNorm


def _model(c: ModelConfig) -> Module:
    h, inner = c.dim("hidden_size", default=1024), c.dim("intermediate_size", default=4096)
    norm, patch = (
        RMSNorm(h, eps=1e-5, class_name="PixtralRMSNorm"),
        pair(c, "patch_size", default=16),
    )
    looking = clip_attention("PixtralAttention", h, bias=False, out="o_proj")
    layer = Module(
        "PixtralAttentionLayer",
        attention_norm=norm,
        feed_forward=gated_mlp("PixtralMLP", h, inner, act=c.text("hidden_act", default="gelu")),
        attention=looking,
        ffn_norm=norm,
    )
    layers = Layers.of(c.count("num_hidden_layers", default=24), layer)
    return Module(
        "PixtralVisionModel",
        patch_conv=patch_conv(c.dim("num_channels", default=3), h, patch, bias=False),
        ln_pre=norm,
        transformer=Module("PixtralTransformer", layers=layers),
        patch_positional_embedding=Activation("PixtralVisionRotaryEmbedding"),
        part="vision",
    )


register_part("pixtral", "PixtralVisionModel", _model, "vision")
