"""PaellaVQModel: the image codec of Würstchen and Stable Cascade (Rampas et al. 2022). Source of
shapes: diffusers/pipelines/deprecated/wuerstchen/modeling_paella_vq_model.py."""

from itertools import pairwise

from ..trees import Component, Dim, ModelConfig, register
from ..trees import modules as nn


def _mixing(width: Dim) -> nn.Module:
    norm = nn.LayerNorm(width, eps=1e-6, weight=False)
    inner = 4 * width
    act = nn.Activation("GELU")
    pad = nn.Activation("ReplicationPad2d")
    depthwise = nn.Conv(width, width, 3, groups=width)
    return nn.Module(
        "MixingResidualBlock",
        norm1=norm,
        depthwise=nn.Sequential(pad, depthwise),
        norm2=norm,
        channelwise=nn.Sequential(nn.Linear(width, inner), act, nn.Linear(inner, width)),
        gammas=nn.Weight(6, component=Component.OTHER, kind="scale"),
        component=Component.CONV,
    )


def model(c: ModelConfig) -> nn.Module:
    latent = c.dim("latent_channels", default=4)
    factor = c.dim("up_down_scale_factor", default=2)
    width = c.dim("embed_dim", default=384)
    levels = c.count("levels", default=2, minimum=1)
    widths = [width // 2**i for i in reversed(range(levels))]
    inputs, outputs = (c.dim(f"{x}_channels", default=3) * factor**2 for x in ("in", "out"))
    deep = int(c.count("bottleneck_blocks", default=12))
    codes = nn.Embedding(c.dim("num_vq_embeddings", default=8192), latent, kind=None)
    down = [_mixing(widths[0])]
    last = widths[-1]
    up = [nn.Sequential(nn.Conv(latent, last, 1)), *[_mixing(last)] * deep]
    for above, below in pairwise(widths):
        down += [nn.Conv(above, below, 4, stride=2), _mixing(below)]
    for below, above in pairwise(widths[::-1]):
        up += [nn.Conv(below, above, 4, stride=2, transposed=True), _mixing(above)]
    down.append(nn.Sequential(nn.Conv(last, latent, 1, bias=False), nn.BatchNorm(latent)))
    return nn.Module(
        "PaellaVQModel",
        in_block=nn.Sequential(nn.Activation("PixelUnshuffle"), nn.Conv(inputs, widths[0], 1)),
        down_blocks=nn.Layers(down, class_name="Sequential"),
        vquantizer=nn.Module("VectorQuantizer", embedding=codes, component=Component.EMBEDDING),
        up_blocks=nn.Layers(up, class_name="Sequential"),
        out_block=nn.Sequential(nn.Conv(widths[0], outputs, 1), nn.Activation("PixelShuffle")),
        part="vision",
    )


register((), {"PaellaVQModel": model}, category="diffusion", source="diffusers")
