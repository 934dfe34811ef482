"""ViTDet (Li et al. 2022): a ViT some of whose layers attend within windows or end in a residual
block of convolutions. Source of shapes: transformers/models/vitdet/modeling_vitdet.py."""

from functools import partial

from ..layers.blocks import activation, fused_attention, size, two_layer_mlp
from ..layers.vision import pair, patch_conv, patch_count, scaled
from ..trees import Component, ModelConfig, register
from ..trees.modules import Conv, Dropout, LayerNorm, Layers, Module, Weight, once

_hidden = size("hidden_size", default=768)


def embeddings(c: ModelConfig, name: str = "VitDet") -> Module:
    h = _hidden(c)
    channels = c.dim("num_channels", default=3)
    image = pair(c, "pretrain_image_size", default=224)
    patch = pair(c, "patch_size", default=16)
    absolute = c.flag("use_absolute_position_embeddings", default=True)
    count = patch_count(image, patch) + 1
    return Module(
        f"{name}Embeddings",
        position_embeddings=Weight(1, count, h, kind="position") if absolute else None,
        projection=patch_conv(channels, h, patch),
        component=Component.EMBEDDING,
    )


def _residual(h: int, act: Module) -> Module:
    parts = dict[str, Module]()
    for i, kernel in enumerate((1, 3, 1), 1):
        inputs = h if i == 1 else h // 2
        outputs = h if i == 3 else h // 2
        norm = LayerNorm(outputs, eps=1e-6, class_name="VitDetLayerNorm")
        parts |= {f"conv{i}": Conv(inputs, outputs, kernel, bias=False), f"norm{i}": norm}
        parts |= {f"act{i}": act} if i < 3 else {}
    return Module("VitDetResBottleneckBlock", parts, component=Component.CONV)


def model(c: ModelConfig, *, name: str = "VitDetModel") -> Module:
    h = _hidden(c)
    window = c.dim("window_size", default=0, minimum=0)
    image = pair(c, "image_size", default=224)
    patch = pair(c, "patch_size", default=16)
    inner = scaled(c, h, "mlp_ratio", default=4)
    act = c.text("hidden_act", default="gelu")
    head = h // c.dim("num_attention_heads", default=12)
    norm = LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-6))

    def layer(kind: tuple[bool, bool]) -> Module:
        """Relative positions reach as far as the window, or the whole picture."""
        windowed, residual = kind
        look = fused_attention("VitDetAttention", h, bias=c.flag("qkv_bias", default=True))
        if c.flag("use_relative_position_embeddings", default=False):
            for axis, length, side in zip("hw", image, patch, strict=True):
                span = window if windowed and window else length // side
                offsets = Weight(2 * span - 1, head, kind="relative_position")
                look.adding(**{f"rel_pos_{axis}": offsets})
        mlp = two_layer_mlp("VitDetMlp", h, inner, act=act)
        mlp.adding(drop=Dropout(c.number("dropout_prob", default=0.0)))
        parts = {"norm1": norm, "attention": look, "norm2": norm, "mlp": mlp}
        parts |= {"residual": _residual(h, activation(act))} if residual else {}
        return Module("VitDetLayer", parts)

    windowed, residual = (
        set(map(int, c.dims(f"{kind}_block_indices", default=(), minimum=0)))
        for kind in ("window", "residual")
    )
    count = c.count("num_hidden_layers", default=12)
    kinds = [(i in windowed, i in residual) for i in range(count)]
    encoder = Module("VitDetEncoder", layer=Layers(once(kinds, layer), count=count))
    return Module(name, embeddings=embeddings(c), encoder=encoder, part="vision")


_SEEN = {"VitDetBackbone": partial(model, name="VitDetBackbone")}
register("vitdet", {"VitDetModel": model, **_SEEN}, base_prefix="vitdet", category="vision")
