"""Swin2SR (Conde et al. 2022): Swin v2's layers, of one width and at the full size of the image,
and one of five kinds of upsampling. Source: transformers/models/swin2sr/modeling_swin2sr.py."""

from ..layers import vision
from ..layers.blocks import size
from ..trees import Component, Dim, ModelConfig
from ..trees import modules as nn

_FEATURES = 64  # channels of the convolutions that enlarge the image
_width = size("embed_dim", default=180)
_channels = size("num_channels", default=3)


def _layer(c: ModelConfig, width: Dim, heads: Dim) -> nn.Module:
    """Cosine attention: a learned scale per head, and an MLP over relative positions."""
    bias = c.flag("qkv_bias", default=True)
    c.divided(width, heads, "width of the stage", "num_heads")
    mlp = nn.Linear(2, 512), nn.Activation("ReLU"), nn.Linear(512, heads, bias=False)
    attention = nn.Module("Swin2SRSelfAttention", logit_scale=nn.Weight(heads, 1, 1, kind="scale"))
    attention.adding(continuous_position_bias_mlp=nn.Sequential(*mlp, kind="relative_position"))
    for kind in ("query", "key", "value"):
        attention.adding(**{kind: nn.Linear(width, width, bias and kind != "key", kind=kind)})
    return vision.window_layer(c, "Swin2SR", width, attention, ratio=2.0)


def model(c: ModelConfig) -> nn.Module:
    width = _width(c)
    unembed = nn.Activation("Swin2SRPatchUnEmbeddings")
    image = vision.pair(c, "image_size", default=64)
    patch = vision.pair(c, "patch_size", default=1)
    absolute = c.flag("use_absolute_embeddings", default=False)
    usual = (6,) * 6
    count = vision.patch_count(image, patch) + 1
    depths = vision.stage_depths(c, usual)
    heads = c.dims("num_heads", default=usual, least=len(depths))
    # A stage closes with one convolution, or with three through a quarter of the width.
    quarter = width // 4
    act = nn.Activation("LeakyReLU")
    conv = nn.Conv(width, width, 3)
    three = nn.Conv(width, quarter, 3), act, nn.Conv(quarter, quarter, 1), act
    kinds = {"1conv": conv, "3conv": nn.Sequential(*three, nn.Conv(quarter, width, 3))}
    closing = kinds.get(c.text("resi_connection", default="1conv") or "")
    patches = nn.Module("Swin2SRPatchEmbeddings", projection=vision.patch_conv(width, width, patch))
    last = {"conv": closing, "patch_embed": patches, "patch_unembed": unembed}
    pairs = zip(heads, depths, strict=False)
    layers = [nn.ModuleList([_layer(c, width, number)] * int(depth)) for number, depth in pairs]
    stages = nn.Layers(nn.Module("Swin2SRStage", {"layers": blocks, **last}) for blocks in layers)
    normed = nn.Module("Swin2SRPatchEmbeddings", patches.children, layernorm=nn.LayerNorm(width))
    places = nn.Weight(1, count, width, kind="position") if absolute else None
    drop = nn.Dropout(c.number("hidden_dropout_prob", default=0.0))
    parts = {"position_embeddings": places, "patch_embeddings": normed, "dropout": drop}
    return nn.Module(
        "Swin2SRModel",
        first_convolution=nn.Conv(_channels(c), width, 3),
        embeddings=nn.Module("Swin2SREmbeddings", parts, component=Component.EMBEDDING),
        encoder=nn.Module("Swin2SREncoder", stages=stages),
        layernorm=nn.LayerNorm(width, eps=c.number("layer_norm_eps", default=1e-5)),
        patch_unembed=unembed,
        conv_after_body=conv,
        part="vision",
    )


def _doubling(c: ModelConfig, scale: int) -> nn.Module:
    """A convolution and a shuffle for each doubling, or one of both for three times the size."""
    if scale != 3 and scale & (scale - 1):
        raise c.error("upscale", scale, "3 or a power of 2")
    steps = {"": 9} if scale == 3 else {f"_{i}": 4 for i in range(scale.bit_length() - 1)}
    upsample = nn.Module("Upsample")
    shuffle = nn.Activation("PixelShuffle")
    for step, more in steps.items():
        conv = nn.Conv(_FEATURES, more * _FEATURES, 3)
        upsample.adding(**{f"convolution{step}": conv, f"pixelshuffle{step}": shuffle})
    return upsample


def super_resolution(c: ModelConfig) -> nn.Module:
    """One of four upsamplers; the fifth has no size of its own."""
    scale = c.dim("upscale", default=2)
    width = _width(c)
    channels = _channels(c)
    root = nn.Module("Swin2SRForImageSuperResolution", swin2sr=model(c), part="vision")
    kind = c.text("upsampler", default="pixelshuffle")
    act = nn.Activation("LeakyReLU")
    out = c.dim("num_channels_out", default=channels)
    shuffle = nn.Activation("PixelShuffle")
    first = {"conv_before_upsample": nn.Conv(width, _FEATURES, 3), "activation": act}
    last = {"final_convolution": nn.Conv(_FEATURES, out, 3)}
    if kind in ("pixelshuffle", "pixelshuffle_aux"):
        last = {"upsample": _doubling(c, int(scale)), **last}
    if kind == "pixelshuffle":
        name = "PixelShuffleUpsampler"
        parts = {**first, **last}
    elif kind == "pixelshuffle_aux":
        small = {"conv_bicubic": nn.Conv(channels, _FEATURES, 3)}
        after = nn.Sequential(nn.Conv(3, _FEATURES, 3), act)
        aux = {"conv_aux": nn.Conv(_FEATURES, channels, 3), "conv_after_aux": after}
        name = "PixelShuffleAuxUpsampler"
        parts = {**small, **first, **aux, **last}
    elif kind == "pixelshuffledirect":
        parts = {"conv": nn.Conv(width, scale * scale * out, 3), "pixel_shuffle": shuffle}
        name = "UpsampleOneStep"
    elif kind == "nearest+conv":
        if scale != 4:
            raise c.error("upscale", int(scale), "4 with nearest+conv")
        same = dict.fromkeys(("conv_up1", "conv_up2", "conv_hr"), nn.Conv(_FEATURES, _FEATURES, 3))
        name = "NearestConvUpsampler"
        parts = {**first, **same, **last, "lrelu": act}
    else:
        return root.adding(final_convolution=nn.Conv(width, out, 3))
    return root.adding(upsample=nn.Module(name, parts, component=Component.HEAD))


vision.register_seeing("swin2sr", "Swin2SR", model, ForImageSuperResolution=super_resolution)
