"""MLCD (An et al. 2024). Source of shapes: transformers/models/mlcd/modeling_mlcd.py.

CLIP's vision tower with rotary positions in place of a table: the class token has learned angles.
Released configs say ``mlcd``.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.vision import clip_encoder, clip_layer, pair, patch_conv
from ..trees.catalog import register
from ..trees.modules import Activation, LayerNorm, Module, Weight

_NAME = "MLCD"


def model(c: ModelConfig) -> Module:
    h, heads = c.dim("hidden_size", default=1664), c.dim("num_attention_heads", default=16)
    eps, inner = c.number("layer_norm_eps", default=1e-5), c.dim("intermediate_size", default=8192)
    act, patch = c.text("hidden_act", default="gelu"), pair(c, "patch_size", default=14)
    layer = clip_layer(_NAME, h, inner, eps=eps, act=act)
    return Module(
        f"{_NAME}VisionModel",
        class_pos_emb=Weight(1, h // heads // 2, component=Component.EMBEDDING, kind="position"),
        embeddings=Module(
            f"{_NAME}VisionEmbeddings",
            class_embedding=Weight(h, kind="class_token"),
            patch_embedding=patch_conv(c.dim("num_channels", default=3), h, patch, bias=False),
            component=Component.EMBEDDING,
        ),
        pre_layrnorm=LayerNorm(h, eps=eps),
        encoder=clip_encoder(_NAME, c.count("num_hidden_layers", default=48), layer),
        post_layernorm=LayerNorm(h, eps=eps),
        vision_rotary_embedding=Activation(f"{_NAME}RotaryEmbedding"),
        part="vision",
    )


register(
    ("mlcd_vision_model", "mlcd"),
    {f"{_NAME}VisionModel": model},
    base=f"{_NAME}VisionModel",
    base_prefix="vision_model",
    category="vision",
)
