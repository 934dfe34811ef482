"""Masked autoencoders (He et al. 2021). Source: transformers/models/vit_mae/modeling_vit_mae.py.

A ViT (vit.py) that sees a quarter of the patches, and a narrower one that paints the others.
Positions are fixed waves on both sides, kept as parameters.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.vision import google_layer, pair, patch_count, uneven_width
from ..trees.catalog import register
from ..trees.modules import LayerNorm, Layers, Linear, Module, Weight
from . import vit

_NAME = "ViTMAE"
model = partial(vit.model, name=_NAME, pooling=False)


def decoder(c: ModelConfig) -> Module:
    h, wide = c.dim("decoder_hidden_size", default=512), vit.hidden_size(c)
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=16)
    eps = c.number("layer_norm_eps", default=1e-12)
    heads = c.dim("decoder_num_attention_heads", default=16)
    if not c.has("head_dim"):
        c.divided(h, heads, "decoder_hidden_size", "decoder_num_attention_heads")
    layer = google_layer(
        _NAME,
        h,
        c.dim("decoder_intermediate_size", default=2048),
        eps=eps,
        act=c.text("hidden_act", default="gelu"),
        qkv_bias=c.flag("qkv_bias", default=True),
        width=uneven_width(c, h, heads),
    )
    pixels = patch[0] * patch[1] * c.dim("num_channels", default=3)
    layers = Layers.of(c.count("decoder_num_hidden_layers", default=8), layer)
    return Module(
        f"{_NAME}Decoder",
        decoder_embed=Linear(wide, h, component=Component.EMBEDDING),
        mask_token=Weight(1, 1, h, component=Component.EMBEDDING, kind="mask_token"),
        decoder_pos_embed=Weight(
            1, patch_count(image, patch) + 1, h, component=Component.EMBEDDING, kind="position"
        ),
        decoder_encoder=Module(f"{_NAME}DecoderEncoder", layer=layers),
        decoder_norm=LayerNorm(h, eps=eps),
        decoder_pred=Linear(h, pixels, component=Component.HEAD),
    )


def pretraining(c: ModelConfig) -> Module:
    return Module(f"{_NAME}ForPreTraining", vit=model(c), decoder=decoder(c), part="vision")


register(
    "vit_mae",
    {f"{_NAME}ForPreTraining": pretraining, f"{_NAME}Model": model},
    base_prefix="vit",
    category="vision",
)
