"""UNet3DConditionModel: text to video by ModelScope (Wang et al. 2023). Source of shapes:
diffusers/models/unets/{unet_3d_condition,unet_3d_blocks}.py."""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import diffusion
from ..layers.diffusion import Residual, Rung
from ..trees import modules as nn
from ..trees.catalog import register

_DOWN = ("CrossAttnDownBlock3D", "CrossAttnDownBlock3D", "CrossAttnDownBlock3D", "DownBlock3D")
_channels = partial(diffusion.widths, default=(320, 640, 1280, 1280))


def of_residuals(c: ModelConfig) -> Residual:
    groups = c.dim("norm_num_groups", default=32)
    return Residual(4 * _channels(c)[0], groups, c.number("norm_eps", default=1e-5))


def _heads(c: ModelConfig) -> tuple[Dim, ...]:
    """As in the two-dimensional one, called ``attention_head_dim``."""
    key = "num_attention_heads" if c.has("num_attention_heads") else "attention_head_dim"
    return diffusion.per_block(c, key, len(_channels(c)), 64, minimum=1)


def temporal_convolution(width: int, groups: int) -> nn.Module:
    """Four convolutions over three frames: 4·(3·W² + W) and their norms."""
    conv = nn.Conv(width, width, (3, 1, 1), dims=3)
    first = nn.GroupNorm(groups, width), nn.Activation("SiLU")
    later = dict.fromkeys(("conv2", "conv3", "conv4"), nn.Sequential(*first, nn.Dropout(0.1), conv))
    steps = {"conv1": nn.Sequential(*first, conv), **later}
    return nn.Module("TemporalConvLayer", steps, component=Component.CONV)


def temporal_transformer(
    channels: int, width: int, groups: int, *, layers: type[nn.ModuleList] = nn.ModuleList
) -> nn.Module:
    """One block that looks at the frames of its place, twice. ``layers`` as in transformer_2d."""
    return nn.Module(
        "TransformerTemporalModel",
        norm=nn.GroupNorm(groups, channels, eps=1e-6),
        proj_in=nn.Linear(channels, width, component=Component.ATTENTION),
        transformer_blocks=layers([diffusion.transformer_block(width)]),
        proj_out=nn.Linear(width, channels, component=Component.ATTENTION),
    )


def ladder(c: ModelConfig) -> dict[str, nn.Module]:
    """Down, up and the middle: residual blocks over the widths that come in, a convolution over
    time next to each, and on most rungs as many transformers over the image and over time."""
    channels, residual, heads = _channels(c), of_residuals(c), _heads(c)
    across = partial(diffusion.transformer_2d, linear=True, groups=residual.groups)
    context = c.dim("cross_attention_dim", default=1024)
    layers = [c.count("layers_per_block", default=2)] * len(channels)

    def made(rung: Rung, looks: int, kind: type[nn.ModuleList] = nn.ModuleList) -> nn.Module:
        width, groups, head = rung.width, residual.groups, heads[rung.i]
        inner = head * (width // head)
        look = across(width, head, 1, context, layers=kind)
        over_time = temporal_transformer(width, inner, groups, layers=kind)
        parts = {
            "resnets": nn.ModuleList(diffusion.resnet_row(rung.coming, width, residual)),
            "temp_convs": nn.ModuleList([temporal_convolution(width, groups)] * len(rung.coming)),
            "attentions": nn.ModuleList([look] * looks) if looks else None,
            "temp_attentions": nn.ModuleList([over_time] * looks) if looks else None,
        }
        return nn.Module(rung.kind, {**parts, **rung.sampler()})

    def way(*, up: bool) -> nn.Layers:
        found = diffusion.rungs(c, channels, layers, _DOWN, up=up)
        return nn.Layers(made(r, len(r.coming) * r.kind.startswith("Cross")) for r in found)

    at, wide = len(channels) - 1, channels[-1]
    middle = Rung("UNetMidBlock3DCrossAttn", at, [wide] * 2, wide, last=True)
    ways = {"down_blocks": way(up=False), "up_blocks": way(up=True)}
    return {**ways, "mid_block": made(middle, 1, nn.Layers)}


def model(c: ModelConfig) -> nn.Module:
    channels, residual = _channels(c), of_residuals(c)
    first = channels[0]
    inner = 8 * c.dim("attention_head_dim", default=64)
    time = diffusion.timestep_embedding(
        first, 4 * first, condition=c.optional_dim("time_cond_proj_dim")
    )
    parts: dict[str, nn.Module | None] = {
        "conv_in": nn.Conv(c.dim("in_channels", default=4), first, 3),
        "time_proj": nn.Activation("Timesteps"),
        "time_embedding": time,
        "transformer_in": temporal_transformer(first, inner, residual.groups, layers=nn.Layers),
        **ladder(c),
        **diffusion.unet_end(c, first, residual),
    }
    return nn.Module("UNet3DConditionModel", parts, part="vision")


register((), {"UNet3DConditionModel": model}, category="diffusion", source="diffusers")
