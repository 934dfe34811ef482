"""Swin2SR (Conde et al. 2022). Source of shapes: transformers/models/swin2sr/modeling_swin2sr.py.

Layers of Swin v2, all of one width and at the full size of the image; each stage ends in
convolutions, and one of five kinds of upsampling makes the larger image.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.vision import pair, patch_conv, patch_count, stage_depths, window_layer
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Conv,
    Dropout,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Sequential,
    Weight,
)

#: Channels of the convolutions that enlarge the image.
_FEATURES = 64
_BACK = Activation("Swin2SRPatchUnEmbeddings")

_width = size("embed_dim", default=180)
_channels = size("num_channels", default=3)


def _patches(c: ModelConfig, *, normed: bool) -> Module:
    width, patch = _width(c), pair(c, "patch_size", default=1)
    norm, project = LayerNorm(width) if normed else None, patch_conv(width, width, patch)
    return Module("Swin2SRPatchEmbeddings", projection=project, layernorm=norm)


def _closing(c: ModelConfig) -> Module | None:
    """One convolution, or three through a quarter of the width."""
    width, act = _width(c), Activation("LeakyReLU")
    narrow, kind = width // 4, c.text("resi_connection", default="1conv")
    three = Conv(width, narrow, 3), act, Conv(narrow, narrow, 1), act, Conv(narrow, width, 3)
    return {"1conv": Conv(width, width, 3), "3conv": Sequential(*three)}.get(kind or "")


def _layer(c: ModelConfig, heads: Dim) -> Module:
    """Cosine attention: a learned scale per head, and an MLP over relative positions."""
    width, bias = _width(c), c.flag("qkv_bias", default=True)
    c.divided(width, heads, "width of the stage", "num_heads")
    own = Module(
        "Swin2SRSelfAttention",
        logit_scale=Weight(heads, 1, 1, kind="scale"),
        continuous_position_bias_mlp=Sequential(
            Linear(2, 512), Activation("ReLU"), Linear(512, heads, bias=False),
            kind="relative_position",
        ),
        query=Linear(width, width, bias=bias, kind="query"),
        key=Linear(width, width, bias=False, kind="key"),
        value=Linear(width, width, bias=bias, kind="value"),
    )  # fmt: skip
    return window_layer(c, "Swin2SR", width, own, ratio=2.0)


def _stages(c: ModelConfig) -> Layers:
    depths = stage_depths(c, (6, 6, 6, 6, 6, 6))
    heads = c.dims("num_heads", default=(6, 6, 6, 6, 6, 6), least=len(depths))
    after = {"conv": _closing(c), "patch_embed": _patches(c, normed=False), "patch_unembed": _BACK}
    return Layers(
        Module("Swin2SRStage", {"layers": ModuleList([_layer(c, count)] * int(depth)), **after})
        for count, depth in zip(heads, depths, strict=False)
    )


def model(c: ModelConfig) -> Module:
    width = _width(c)
    image, patch = pair(c, "image_size", default=64), pair(c, "patch_size", default=1)
    absolute = c.flag("use_absolute_embeddings", default=False)
    count = patch_count(image, patch) + 1
    return Module(
        "Swin2SRModel",
        first_convolution=Conv(_channels(c), width, 3),
        embeddings=Module(
            "Swin2SREmbeddings",
            position_embeddings=Weight(1, count, width, kind="position") if absolute else None,
            patch_embeddings=_patches(c, normed=True),
            dropout=Dropout(c.number("hidden_dropout_prob", default=0.0)),
            component=Component.EMBEDDING,
        ),
        encoder=Module("Swin2SREncoder", stages=_stages(c)),
        layernorm=LayerNorm(width, eps=c.number("layer_norm_eps", default=1e-5)),
        patch_unembed=_BACK,
        conv_after_body=Conv(width, width, 3),
        part="vision",
    )


def _doubling(c: ModelConfig, scale: int) -> Module:
    """A convolution and a shuffle for each doubling, or one of both for three times the size."""
    if scale != 3 and scale & (scale - 1):
        raise c.error("upscale", scale, "3 or a power of 2")
    steps = {"": 9} if scale == 3 else {f"_{i}": 4 for i in range(scale.bit_length() - 1)}
    made = Module("Upsample")
    for step, more in steps.items():
        made.children[f"convolution{step}"] = Conv(_FEATURES, more * _FEATURES, 3)
        made.children[f"pixelshuffle{step}"] = Activation("PixelShuffle")
    return made


def _enlarging(c: ModelConfig) -> dict[str, Module]:
    """One of four upsamplers; the fifth has no size of its own."""
    out, seen = c.dim("num_channels_out", default=_channels(c)), _channels(c)
    scale, width, act = c.dim("upscale", default=2), _width(c), Activation("LeakyReLU")
    kind = c.text("upsampler", default="pixelshuffle")
    parts = {"conv_before_upsample": Conv(width, _FEATURES, 3), "activation": act}
    last = {"final_convolution": Conv(_FEATURES, out, 3)}
    if kind in ("pixelshuffle", "pixelshuffle_aux"):
        name, larger = "PixelShuffleUpsampler", _doubling(c, int(scale))
        if kind == "pixelshuffle_aux":
            name, after = "PixelShuffleAuxUpsampler", Sequential(Conv(3, _FEATURES, 3), act)
            parts = {"conv_bicubic": Conv(seen, _FEATURES, 3), **parts}
            parts |= {"conv_aux": Conv(_FEATURES, seen, 3), "conv_after_aux": after}
        parts |= {"upsample": larger, **last}
    elif kind == "pixelshuffledirect":
        name, conv = "UpsampleOneStep", Conv(width, scale * scale * out, 3)
        parts = {"conv": conv, "pixel_shuffle": Activation("PixelShuffle")}
    elif kind == "nearest+conv":
        if scale != 4:
            raise c.error("upscale", int(scale), "4 with nearest+conv")
        same = dict.fromkeys(("conv_up1", "conv_up2", "conv_hr"), Conv(_FEATURES, _FEATURES, 3))
        name, parts = "NearestConvUpsampler", {**parts, **same, **last, "lrelu": act}
    else:
        return {"final_convolution": Conv(width, out, 3)}
    return {"upsample": Module(name, parts, component=Component.HEAD)}


def super_resolution(c: ModelConfig) -> Module:
    parts = {"swin2sr": model(c), **_enlarging(c)}
    return Module("Swin2SRForImageSuperResolution", parts, part="vision")


_CLASSES = {"Swin2SRForImageSuperResolution": super_resolution, "Swin2SRModel": model}
register("swin2sr", _CLASSES, base_prefix="swin2sr", category="vision")
