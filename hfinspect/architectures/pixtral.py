"""Pixtral's vision tower (Agrawal et al. 2024), built like Llama. Source:
transformers/models/pixtral. Whole models are of type llava (12B) or mistral3."""

from ..layers.blocks import gated_mlp
from ..layers.vision import clip_attention, pair, patch_conv
from ..trees import Activation, Layers, ModelConfig, Module, RMSNorm, register_part


def _model(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=1024)
    inner = c.dim("intermediate_size", default=4096)
    norm = RMSNorm(h, eps=1e-5, class_name="PixtralRMSNorm")
    layer = Module(
        "PixtralAttentionLayer",
        attention_norm=norm,
        feed_forward=gated_mlp("PixtralMLP", h, inner, act=c.text("hidden_act", default="gelu")),
        attention=clip_attention("PixtralAttention", h, bias=False, out="o_proj"),
        ffn_norm=norm,
    )
    layers = Layers.of(c.count("num_hidden_layers", default=24), layer)
    patches = pair(c, "patch_size", default=16)
    return Module(
        "PixtralVisionModel",
        patch_conv=patch_conv(c.dim("num_channels", default=3), h, patches, bias=False),
        ln_pre=norm,
        transformer=Module("PixtralTransformer", layers=layers),
        patch_positional_embedding=Activation("PixtralVisionRotaryEmbedding"),
        part="vision",
    )


register_part("pixtral", "PixtralVisionModel", _model, "vision")
