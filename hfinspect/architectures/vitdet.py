"""ViTDet (Li et al. 2022): a ViT some of whose layers attend within windows or end in a residual
block of convolutions. Source of shapes: transformers/models/vitdet/modeling_vitdet.py."""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, fused_attention, size, two_layer_mlp
from ..layers.vision import pair, patch_conv, patch_count, scaled
from ..trees.catalog import Builder, register
from ..trees.modules import Conv, Dropout, LayerNorm, Layers, Module, Weight

_hidden = size("hidden_size", default=768)


def embeddings(c: ModelConfig, name: str = "VitDet") -> Module:
    h, channels = _hidden(c), c.dim("num_channels", default=3)
    image, patch = pair(c, "pretrain_image_size", default=224), pair(c, "patch_size", default=16)
    absolute = c.flag("use_absolute_position_embeddings", default=True)
    count = patch_count(image, patch) + 1
    return Module(
        f"{name}Embeddings",
        position_embeddings=Weight(1, count, h, kind="position") if absolute else None,
        projection=patch_conv(channels, h, patch),
        component=Component.EMBEDDING,
    )


def _residual(c: ModelConfig) -> Module:
    h, act = _hidden(c), activation(c.text("hidden_act", default="gelu"))
    sizes, parts = ((h, h // 2, 1), (h // 2, h // 2, 3), (h // 2, h, 1)), dict[str, Module]()
    for i, (inputs, outputs, kernel) in enumerate(sizes, 1):
        norm = LayerNorm(outputs, eps=1e-6, class_name="VitDetLayerNorm")
        parts |= {f"conv{i}": Conv(inputs, outputs, kernel, bias=False), f"norm{i}": norm}
        parts |= {f"act{i}": act} if i < len(sizes) else {}
    return Module("VitDetResBottleneckBlock", parts, component=Component.CONV)


def _layer(c: ModelConfig, *, windowed: bool, residual: bool) -> Module:
    """Relative positions reach as far as the window, or the whole picture."""
    h, window = _hidden(c), c.dim("window_size", default=0, minimum=0)
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=16)
    head = h // c.dim("num_attention_heads", default=12)
    look = fused_attention("VitDetAttention", h, bias=c.flag("qkv_bias", default=True))
    if c.flag("use_relative_position_embeddings", default=False):
        for axis, whole, side in zip("hw", image, patch, strict=True):
            seen = window if windowed and window else whole // side
            offsets = Weight(2 * seen - 1, head, kind="relative_position")
            look.adding(**{f"rel_pos_{axis}": offsets})
    inner, act = scaled(c, h, "mlp_ratio", default=4), c.text("hidden_act", default="gelu")
    mlp = two_layer_mlp("VitDetMlp", h, inner, act=act)
    mlp.adding(drop=Dropout(c.number("dropout_prob", default=0.0)))
    norm = LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-6))
    parts = {"norm1": norm, "attention": look, "norm2": norm, "mlp": mlp}
    return Module("VitDetLayer", parts, residual=_residual(c) if residual else None)


def model(c: ModelConfig, *, name: str = "VitDetModel") -> Module:
    windowed, residual = (
        {int(index) for index in c.dims(f"{kind}_block_indices", default=(), minimum=0)}
        for kind in ("window", "residual")
    )
    kinds = {
        (a, b): _layer(c, windowed=a, residual=b) for a in (False, True) for b in (False, True)
    }
    count = c.count("num_hidden_layers", default=12)
    layers = Layers((kinds[i in windowed, i in residual] for i in range(count)), count=count)
    encoder = Module("VitDetEncoder", layer=layers)
    return Module(name, embeddings=embeddings(c), encoder=encoder, part="vision")


_CLASSES: dict[str, Builder] = {
    "VitDetModel": model,
    "VitDetBackbone": partial(model, name="VitDetBackbone"),
}
register("vitdet", _CLASSES, base_prefix="vitdet", category="vision")
