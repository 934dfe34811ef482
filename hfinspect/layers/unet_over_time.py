"""What UNets of videos share: the ladder of unet_ladder.py, where next to each residual block and
each transformer stands one over time.

Source: diffusers/models/unets/unet_3d_blocks.py and models/transformers/transformer_temporal.py.
"""

from __future__ import annotations

from functools import partial

from ..trees import Component, ModelConfig
from ..trees import modules as nn
from . import diffusion
from .diffusion import Residual, Rung

_DOWN = ("CrossAttnDownBlock3D", "CrossAttnDownBlock3D", "CrossAttnDownBlock3D", "DownBlock3D")
#: Of the rungs, the widest image first.
channels_of = partial(diffusion.widths, default=(320, 640, 1280, 1280))


def temporal_transformer(
    c: ModelConfig, channels: int, width: int, *, layers: type[nn.ModuleList] = nn.Layers
) -> nn.Module:
    """One block that looks at the frames of its place, twice. ``layers`` as in transformer_2d."""
    return nn.Module(
        "TransformerTemporalModel",
        norm=nn.GroupNorm(c.dim("norm_num_groups", default=32), channels, eps=1e-6),
        proj_in=nn.Linear(channels, width, component=Component.ATTENTION),
        transformer_blocks=layers([diffusion.transformer_block(width)]),
        proj_out=nn.Linear(width, channels, component=Component.ATTENTION),
    )


def ladder(c: ModelConfig) -> dict[str, nn.Module | None]:
    """Down, up, the middle and the end: residual blocks over the widths that come in, a convolution
    over time next to each, and on most rungs as many transformers over the image and over time."""
    channels = channels_of(c)
    groups = c.dim("norm_num_groups", default=32)
    residual = Residual(4 * channels[0], groups, c.number("norm_eps", default=1e-5))
    across = partial(diffusion.transformer_2d, linear=True, groups=groups)
    context = c.dim("cross_attention_dim", default=1024)
    count = len(channels)
    # As in the two-dimensional one, called ``attention_head_dim``.
    key = "num_attention_heads" if c.has("num_attention_heads") else "attention_head_dim"
    heads = diffusion.per_block(c, key, count, 64, minimum=1)
    layers = [c.count("layers_per_block", default=2)] * count
    wide = channels[-1]

    def build(rung: Rung, looks: int, kind: type[nn.ModuleList] = nn.ModuleList) -> nn.Module:
        width = rung.width
        head = heads[rung.i]
        look = across(width, head, 1, context, layers=kind)
        over_time = temporal_transformer(c, width, head * (width // head), layers=kind)
        # Four convolutions over three frames: 4·(3·W² + W) and their norms.
        first = (nn.GroupNorm(groups, width), nn.Activation("SiLU"))
        last = nn.Dropout(0.1)
        conv = nn.Conv(width, width, (3, 1, 1), dims=3)
        later = dict.fromkeys(("conv2", "conv3", "conv4"), nn.Sequential(*first, last, conv))
        steps = {"conv1": nn.Sequential(*first, conv), **later}
        timed = nn.Module("TemporalConvLayer", steps, component=Component.CONV)
        parts = {
            "resnets": nn.ModuleList(diffusion.resnet_row(rung.coming, width, residual)),
            "temp_convs": nn.ModuleList([timed] * len(rung.coming)),
            "attentions": nn.ModuleList([look] * looks) if looks else None,
            "temp_attentions": nn.ModuleList([over_time] * looks) if looks else None,
        }
        return nn.Module(rung.kind, {**parts, **rung.sampler()})

    def way(*, up: bool) -> nn.Layers:
        rungs = diffusion.rungs(c, channels, layers, _DOWN, up=up)
        return nn.Layers(build(r, len(r.coming) * r.kind.startswith("Cross")) for r in rungs)

    middle = Rung("UNetMidBlock3DCrossAttn", count - 1, [wide] * 2, wide, last=True)
    return {
        "down_blocks": way(up=False),
        "up_blocks": way(up=True),
        "mid_block": build(middle, 1, nn.Layers),
        **diffusion.unet_end(c, channels[0], residual),
    }
