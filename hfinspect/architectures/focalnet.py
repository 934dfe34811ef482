"""FocalNet (Yang et al. 2022): Swin's stages, but instead of attention each position is multiplied
with its surroundings, which gates weigh. Source of shapes: transformers/models/focalnet."""

from functools import partial

from ..core.config import MAX_COUNT
from ..layers import vision
from ..layers.blocks import two_layer_mlp
from ..layers.vision import Pair, pair, scaled, stage_depths
from ..trees import Component, Dim, ModelConfig
from ..trees import modules as nn


def _norm(c: ModelConfig, width: Dim) -> nn.Module:
    return nn.LayerNorm(width, eps=c.number("layer_norm_eps", default=1e-5))


def _widths(c: ModelConfig) -> list[Dim]:
    """Of each stage."""
    first = c.dim("embed_dim", default=96)
    return [first * 2**i if i else first for i in range(len(stage_depths(c, (2, 2, 6, 2))))]


def _patches(c: ModelConfig, inputs: Dim, outputs: Dim, patch: Pair | None = None) -> nn.Module:
    """Without ``patch``: what halves the image between stages, and has a norm."""
    kernel = stride = patch or (2, 2)
    if c.flag("use_conv_embed", default=False):
        kernel, stride = ((7, 7), (4, 4)) if patch else ((3, 3), (2, 2))
    part = Component.EMBEDDING if patch else Component.CONV
    conv = nn.Conv(inputs, outputs, kernel, stride=stride, component=part, kind="patch")
    norm = None if patch else _norm(c, outputs)
    return nn.Module("FocalNetPatchEmbeddings", projection=conv, norm=norm)


def _stages(c: ModelConfig) -> nn.Layers:
    depths = stage_depths(c, (2, 2, 6, 2))
    widths = _widths(c)
    gelu = nn.Activation("GELU")
    for_each = partial(c.dims, least=len(depths))
    usual = (2, 2, 2, 2)
    levels = for_each("focal_levels", default=usual, minimum=0, maximum=MAX_COUNT)
    windows = for_each("focal_windows", default=(3, 3, 3, 3))
    act = c.text("hidden_act", default="gelu")
    weighted = c.flag("use_layerscale", default=False)
    normed = c.flag("use_post_layernorm_in_modulation", default=False)
    drop = nn.Dropout(c.number("hidden_dropout_prob", default=0.0))

    def layer(width: Dim, level: Dim, window: Dim) -> nn.Module:
        inner = scaled(c, width, "mlp_ratio", default=4.0)
        norm = _norm(c, width)
        to = partial(nn.Conv, width, width, groups=width, bias=False)
        focal = (nn.Sequential(to(kernel=window + 2 * k), gelu) for k in range(level))
        inward = nn.Linear(width, 2 * width + (level + 1))
        context = nn.Conv(width, width, 1)
        parts = {"projection_in": inward, "projection_context": context, "activation": gelu}
        parts |= {"projection_out": nn.Linear(width, width), "projection_dropout": drop}
        parts |= {"focal_layers": nn.ModuleList(focal), **({"layernorm": norm} if normed else {})}
        modulation = nn.Module("FocalNetModulation", parts, component=Component.CONV)
        scales = {f"gamma_{i}": nn.Weight(width, kind="scale") for i in (1, 2) if weighted}
        mlp = two_layer_mlp("FocalNetMlp", width, inner, act=act, act_name="activation")
        parts = {"norm1": norm, "modulation": modulation, "norm2": norm, "mlp": mlp}
        return nn.Module("FocalNetLayer", {**scales, **parts})

    stages = []
    for i, depth in enumerate(depths):
        blocks = [layer(widths[i], levels[i], windows[i])] * int(depth) if depth else []
        down = _patches(c, widths[i], widths[i + 1]) if i + 1 < len(depths) else None
        stages.append(nn.Module("FocalNetStage", layers=nn.ModuleList(blocks), downsample=down))
    return nn.Layers(stages)


def model(c: ModelConfig, *, masked: bool = False) -> nn.Module:
    widths = _widths(c)
    patch = pair(c, "patch_size", default=4)
    return nn.Module(
        "FocalNetModel",
        embeddings=nn.Module(
            "FocalNetEmbeddings",
            mask_token=nn.Weight(1, 1, widths[0], kind="mask_token") if masked else None,
            patch_embeddings=_patches(c, c.dim("num_channels", default=3), widths[0], patch),
            norm=_norm(c, widths[0]),
            dropout=nn.Dropout(c.number("hidden_dropout_prob", default=0.0)),
            component=Component.EMBEDDING,
        ),
        encoder=nn.Module("FocalNetEncoder", stages=_stages(c)),
        layernorm=_norm(c, widths[-1]),
        pooler=None if masked else nn.Activation("AdaptiveAvgPool1d"),
        part="vision",
    )


def backbone(c: ModelConfig) -> nn.Module:
    c.dims("hidden_sizes")  # the class cannot be built with its own default
    return nn.Module("FocalNetBackbone", focalnet=model(c), part="vision")


vision.register_seeing(
    "focalnet",
    "FocalNet",
    model,
    ForImageClassification={"classifier": lambda c: vision.labels_classifier(c, _widths(c)[-1])},
    ForMaskedImageModeling={
        "focalnet": partial(model, masked=True),
        "decoder": lambda c: vision.pixel_decoder(c, _widths(c)[-1], 32),
    },
    Backbone=backbone,
)
