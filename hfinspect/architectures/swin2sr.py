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

_width = size("embed_dim", default=180)
_channels = size("num_channels", default=3)


def _patches(c: ModelConfig, *, normed: bool) -> Module:
    width = _width(c)
    return Module(
        "Swin2SRPatchEmbeddings",
        projection=patch_conv(width, width, pair(c, "patch_size", default=1)),
        layernorm=LayerNorm(width) if normed else None,
    )


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


def model(c: ModelConfig) -> Module:
    width = _width(c)
    image, patch = pair(c, "image_size", default=64), pair(c, "patch_size", default=1)
    absolute = c.flag("use_absolute_embeddings", default=False)
    count, depths = patch_count(image, patch) + 1, stage_depths(c, (6, 6, 6, 6, 6, 6))
    heads = c.dims("num_heads", default=(6, 6, 6, 6, 6, 6), least=len(depths))
    # A stage closes with one convolution, or with three through a quarter of the width.
    narrow, act = width // 4, Activation("LeakyReLU")
    three = Conv(width, narrow, 3), act, Conv(narrow, narrow, 1), act, Conv(narrow, width, 3)
    kinds = {"1conv": Conv(width, width, 3), "3conv": Sequential(*three)}
    closing = kinds.get(c.text("resi_connection", default="1conv") or "")
    stages = Layers(
        Module(
            "Swin2SRStage",
            layers=ModuleList([_layer(c, number)] * int(depth)),
            conv=closing,
            patch_embed=_patches(c, normed=False),
            patch_unembed=Activation("Swin2SRPatchUnEmbeddings"),
        )
        for number, depth in zip(heads, depths, strict=False)
    )
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
        encoder=Module("Swin2SREncoder", stages=stages),
        layernorm=LayerNorm(width, eps=c.number("layer_norm_eps", default=1e-5)),
        patch_unembed=Activation("Swin2SRPatchUnEmbeddings"),
        conv_after_body=Conv(width, width, 3),
        part="vision",
    )


def _doubling(c: ModelConfig, scale: int) -> Module:
    """A convolution and a shuffle for each doubling, or one of both for three times the size."""
    if scale != 3 and scale & (scale - 1):
        raise c.error("upscale", scale, "3 or a power of 2")
    steps = {"": 9} if scale == 3 else {f"_{i}": 4 for i in range(scale.bit_length() - 1)}
    parts = {}
    for step, more in steps.items():
        parts[f"convolution{step}"] = Conv(_FEATURES, more * _FEATURES, 3)
        parts[f"pixelshuffle{step}"] = Activation("PixelShuffle")
    return Module("Upsample", parts)


def _enlarging(c: ModelConfig, out: Dim) -> Module | None:
    """One of four upsamplers; None for the fifth, which has no size of its own."""
    scale, width, seen = c.dim("upscale", default=2), _width(c), _channels(c)
    kind, act = c.text("upsampler", default="pixelshuffle"), Activation("LeakyReLU")
    first = {"conv_before_upsample": Conv(width, _FEATURES, 3), "activation": act}
    last = {"final_convolution": Conv(_FEATURES, out, 3)}
    if kind in ("pixelshuffle", "pixelshuffle_aux"):
        last = {"upsample": _doubling(c, int(scale)), **last}
    if kind == "pixelshuffle":
        return Module("PixelShuffleUpsampler", {**first, **last})
    if kind == "pixelshuffle_aux":
        small = Conv(seen, _FEATURES, 3)
        after = Sequential(Conv(3, _FEATURES, 3), act)
        aux = {"conv_aux": Conv(_FEATURES, seen, 3), "conv_after_aux": after}
        return Module("PixelShuffleAuxUpsampler", {"conv_bicubic": small, **first, **aux, **last})
    if kind == "pixelshuffledirect":
        conv, shuffle = Conv(width, scale * scale * out, 3), Activation("PixelShuffle")
        return Module("UpsampleOneStep", conv=conv, pixel_shuffle=shuffle)
    if kind != "nearest+conv":
        return None
    if scale != 4:
        raise c.error("upscale", int(scale), "4 with nearest+conv")
    same = Conv(_FEATURES, _FEATURES, 3)
    between = {"conv_up1": same, "conv_up2": same, "conv_hr": same}
    return Module("NearestConvUpsampler", {**first, **between, **last, "lrelu": act})


def super_resolution(c: ModelConfig) -> Module:
    out = c.dim("num_channels_out", default=_channels(c))
    enlarged, last = _enlarging(c, out), {"final_convolution": Conv(_width(c), out, 3)}
    if enlarged:
        enlarged.component, last = Component.HEAD, {"upsample": enlarged}
    return Module("Swin2SRForImageSuperResolution", swin2sr=model(c), part="vision").adding(**last)


register(
    "swin2sr",
    {"Swin2SRForImageSuperResolution": super_resolution, "Swin2SRModel": model},
    base_prefix="swin2sr",
    category="vision",
)
