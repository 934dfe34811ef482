"""ViTDet (Li et al. 2022). Source of shapes: transformers/models/vitdet/modeling_vitdet.py.

A ViT without a class token, some of whose layers attend within windows or end in a residual block
of convolutions; relative positions, where there are any, have a vector per offset and axis.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, size
from ..layers.vision import Pair, pair, patch_conv, patch_count, scaled
from ..trees.catalog import Builder, register
from ..trees.modules import Conv, Dropout, LayerNorm, Layers, Linear, Module, Weight

_hidden = size("hidden_size", default=768)


def _embeddings(c: ModelConfig) -> Module:
    h = _hidden(c)
    image, patch = pair(c, "pretrain_image_size", default=224), pair(c, "patch_size", default=16)
    absolute = c.flag("use_absolute_position_embeddings", default=True)
    count = patch_count(image, patch) + 1
    return Module(
        "VitDetEmbeddings",
        position_embeddings=Weight(1, count, h, kind="position") if absolute else None,
        projection=patch_conv(c.dim("num_channels", default=3), h, patch),
        component=Component.EMBEDDING,
    )


def _attention(c: ModelConfig, seen: Pair) -> Module:
    h = _hidden(c)
    head = h // c.dim("num_attention_heads", default=12)
    relative = c.flag("use_relative_position_embeddings", default=False)
    rows, columns = (
        Weight(2 * size - 1, head, kind="relative_position") if relative else None for size in seen
    )
    return Module(
        "VitDetAttention",
        qkv=Linear(h, 3 * h, bias=c.flag("qkv_bias", default=True), kind="qkv"),
        proj=Linear(h, h, kind="output"),
        rel_pos_h=rows,
        rel_pos_w=columns,
        component=Component.ATTENTION,
    )


def _residual(c: ModelConfig) -> Module:
    h, act = _hidden(c), c.text("hidden_act", default="gelu")
    narrow = h // 2

    def norm(size: Dim) -> Module:
        return LayerNorm(size, eps=1e-6, class_name="VitDetLayerNorm")

    return Module(
        "VitDetResBottleneckBlock",
        conv1=Conv(h, narrow, 1, bias=False),
        norm1=norm(narrow),
        act1=activation(act),
        conv2=Conv(narrow, narrow, 3, bias=False),
        norm2=norm(narrow),
        act2=activation(act),
        conv3=Conv(narrow, h, 1, bias=False),
        norm3=norm(h),
        component=Component.CONV,
    )


def _layer(c: ModelConfig, *, windowed: bool, residual: bool) -> Module:
    h = _hidden(c)
    inner = scaled(c, h, "mlp_ratio", default=4)
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=16)
    seen = image[0] // patch[0], image[1] // patch[1]
    window = c.dim("window_size", default=0, minimum=0)
    eps = c.number("layer_norm_eps", default=1e-6)
    return Module(
        "VitDetLayer",
        norm1=LayerNorm(h, eps=eps),
        attention=_attention(c, (window, window) if windowed and window else seen),
        norm2=LayerNorm(h, eps=eps),
        mlp=Module(
            "VitDetMlp",
            fc1=Linear(h, inner, kind="up"),
            act=activation(c.text("hidden_act", default="gelu")),
            fc2=Linear(inner, h, kind="down"),
            drop=Dropout(c.number("dropout_prob", default=0.0)),
            component=Component.MLP,
        ),
        residual=_residual(c) if residual else None,
    )


def _listed(c: ModelConfig, key: str) -> set[int]:
    return {int(index) for index in c.dims(key, default=(), minimum=0)}


def model(c: ModelConfig, *, name: str = "VitDetModel") -> Module:
    windowed, residual = _listed(c, "window_block_indices"), _listed(c, "residual_block_indices")
    kinds = {
        (a, b): _layer(c, windowed=a, residual=b) for a in (False, True) for b in (False, True)
    }
    count = c.count("num_hidden_layers", default=12)
    layers = Layers((kinds[i in windowed, i in residual] for i in range(count)), count=count)
    encoder = Module("VitDetEncoder", layer=layers)
    return Module(name, embeddings=_embeddings(c), encoder=encoder, part="vision")


_CLASSES: dict[str, Builder] = {
    "VitDetModel": model,
    "VitDetBackbone": partial(model, name="VitDetBackbone"),
}
register("vitdet", _CLASSES, base_prefix="vitdet", category="vision")
