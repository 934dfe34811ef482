"""DINOv3 ViT (Siméoni et al. 2025). Source: transformers/models/dinov3_vit/modeling_dinov3_vit.py.

DINOv2 with rotary positions (no tensors), register tokens, and biases that are set one by one. In
memory the layers are in a module ``model``, in files they are not (conversion_mapping.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, gated_mlp
from ..layers.vision import pair, patch_conv
from ..trees.catalog import register
from ..trees.modules import Activation, LayerNorm, Layers, Linear, Module, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=384)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-5))


def embeddings(c: ModelConfig) -> Module:
    h = _hidden(c)
    registers = c.dim("num_register_tokens", default=0, minimum=0)
    patch = pair(c, "patch_size", default=16)
    return Module(
        "DINOv3ViTEmbeddings",
        cls_token=Weight(1, 1, h, kind="class_token"),
        mask_token=Weight(1, 1, h, kind="mask_token"),
        register_tokens=Weight(1, registers, h, kind="class_token"),
        patch_embeddings=patch_conv(c.dim("num_channels", default=3), h, patch),
        component=Component.EMBEDDING,
    )


def mlp(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=1536)
    bias, act = c.flag("mlp_bias", default=True), c.text("hidden_act", default="gelu")
    if c.flag("use_gated_mlp", default=False):
        return gated_mlp("DINOv3ViTGatedMLP", h, inner, bias=bias, act=act)
    return Module(
        "DINOv3ViTMLP",
        up_proj=Linear(h, inner, bias=bias, kind="up"),
        down_proj=Linear(inner, h, bias=bias, kind="down"),
        act_fn=activation(act),
        component=Component.MLP,
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    scale = Module("DINOv3ViTLayerScale", lambda1=Weight(h, kind="scale"))
    return Module(
        "DINOv3ViTLayer",
        norm1=_norm(c),
        attention=Module(
            "DINOv3ViTAttention",
            k_proj=Linear(h, h, bias=c.flag("key_bias", default=False), kind="key"),
            v_proj=Linear(h, h, bias=c.flag("value_bias", default=True), kind="value"),
            q_proj=Linear(h, h, bias=c.flag("query_bias", default=True), kind="query"),
            o_proj=Linear(h, h, bias=c.flag("proj_bias", default=True), kind="output"),
            component=Component.ATTENTION,
        ),
        layer_scale1=scale,
        norm2=_norm(c),
        mlp=mlp(c),
        layer_scale2=scale,
    )


def model(c: ModelConfig, *, name: str = "DINOv3ViTModel") -> Module:
    layers = Layers.of(c.count("num_hidden_layers", default=12), layer(c))
    return Module(
        name,
        embeddings=embeddings(c),
        rope_embeddings=Activation("DINOv3ViTRopePositionEmbedding"),
        layer=layers,
        norm=_norm(c),
        part="vision",
    )


def backbone(c: ModelConfig) -> Module:
    return model(c, name="DINOv3ViTBackbone")


register(
    "dinov3_vit",
    {"DINOv3ViTModel": model, "DINOv3ViTBackbone": backbone},
    base="DINOv3ViTModel",
    aliases={"model.layer.": "layer."},
    category="vision",
)
