"""Pixtral's vision tower (Agrawal et al. 2024). Source: transformers/models/pixtral.

A ViT built like Llama: RMS norms, gated MLP, no biases, rotary positions. Whole Pixtral models are
of type llava (12B) or mistral3, with this tower inside.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp
from ..layers.vision import pair, patch_conv
from ..trees.catalog import register_part
from ..trees.modules import Activation, Layers, Linear, Module, RMSNorm


def _norm(width: Dim) -> Module:
    return RMSNorm(width, eps=1e-5, class_name="PixtralRMSNorm")


def layer(c: ModelConfig) -> Module:
    h, inner = c.dim("hidden_size", default=1024), c.dim("intermediate_size", default=4096)
    return Module(
        "PixtralAttentionLayer",
        attention_norm=_norm(h),
        feed_forward=gated_mlp("PixtralMLP", h, inner, act=c.text("hidden_act", default="gelu")),
        attention=Module(
            "PixtralAttention",
            k_proj=Linear(h, h, bias=False, kind="key"),
            v_proj=Linear(h, h, bias=False, kind="value"),
            q_proj=Linear(h, h, bias=False, kind="query"),
            o_proj=Linear(h, h, bias=False, kind="output"),
            component=Component.ATTENTION,
        ),
        ffn_norm=_norm(h),
    )


def model(c: ModelConfig) -> Module:
    h, patch = c.dim("hidden_size", default=1024), pair(c, "patch_size", default=16)
    layers = Layers.of(c.count("num_hidden_layers", default=24), layer(c))
    return Module(
        "PixtralVisionModel",
        patch_conv=patch_conv(c.dim("num_channels", default=3), h, patch, bias=False),
        ln_pre=_norm(h),
        transformer=Module("PixtralTransformer", layers=layers),
        patch_positional_embedding=Activation("PixtralVisionRotaryEmbedding"),
        part="vision",
    )


register_part("pixtral", "PixtralVisionModel", model, "vision")
