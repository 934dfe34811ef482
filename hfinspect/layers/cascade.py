"""What Würstchen and Stable Cascade share (Pernias et al. 2023): a level is a repeated row of
ConvNeXt-like blocks, time blocks and cross-attention.

Source: diffusers/models/unets/unet_stable_cascade.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..trees import Component, Dim, ModelConfig
from ..trees import modules as nn
from .diffusion import attention

#: The classes of the blocks.
ROW = RES, TIME, ATTENTION = [f"SDCascade{x}Block" for x in ("Res", "Timestep", "Attn")]
#: Without a weight.
bare_norm = partial(nn.LayerNorm, eps=1e-6, weight=False, class_name="SDCascadeLayerNorm")


def _res_block(width: int, skip: int, kernel: int) -> nn.Module:
    """A depthwise convolution and an MLP, which takes ``skip`` further channels: 8·W² + 4·W·S."""
    inner = 4 * width
    response = {name: nn.Weight(1, 1, 1, inner) for name in ("gamma", "beta")}
    mlp = nn.Sequential(
        nn.Linear(width + skip if skip else width, inner, kind="up"),
        nn.Activation("GELU"),
        nn.Module("GlobalResponseNorm", response, component=Component.NORM),
        nn.Dropout(0.1),
        nn.Linear(inner, width, kind="down"),
        component=Component.CONV,
    )
    depthwise = nn.Conv(width, width, kernel, groups=width)
    return nn.Module(RES, depthwise=depthwise, norm=bare_norm(width), channelwise=mlp)


def level(
    c: ModelConfig,
    names: Sequence[str],
    repeats: int,
    width: Dim,
    condition: Dim,
    *,
    heads: Dim,
    embedded: Dim,
    times: Sequence[str] = (),
    skip: int = 0,
    wider: bool,
) -> list[nn.Module]:
    """The blocks with these ``names``, ``repeats`` times: residual ones; scale and shift from the
    time's embedding and from each further condition of the ``times``; attention to the condition
    and to the level itself. The very first, if that is a residual one, may be ``wider``."""
    kernel = int(c.dim("kernel_size", default=3))
    to = Component.PROJECTOR
    mappers = ["mapper", *(f"mapper_{name}" for name in times)]
    time = nn.Module(TIME, {key: nn.Linear(embedded, 2 * width) for key in mappers}, component=to)
    blocks_by_name = {RES: _res_block(width, skip, kernel), TIME: time}
    if ATTENTION in names:
        if heads < 1:
            raise c.error(str(heads.expr), int(heads), "at least 1 where a level has attention")
        steps = nn.Activation("SiLU"), nn.Linear(condition, width)
        parts = {"attention": attention(width, heads * (width // heads), bias=True)}
        parts["kv_mapper"] = nn.Sequential(*steps, component=Component.ATTENTION)
        blocks_by_name[ATTENTION] = nn.Module(ATTENTION, {"norm": bare_norm(width), **parts})
    blocks = [blocks_by_name[name] for name in names] * repeats
    if wider and blocks and names[0] == RES:
        blocks[0] = _res_block(width, width + skip, kernel)
    return blocks


def resized(above: int, width: int, *, up: bool, switched: bool = False) -> nn.Module:
    """From the level above, or back to it with ``up``; ``switched``: by interpolation."""
    sizes = (width, above) if up else (above, width)
    steps = [nn.Conv(*sizes, 1), nn.Activation("Upsample")]
    change = nn.Module("UpDownBlock2d", blocks=nn.ModuleList(steps[::-1] if up else steps))
    change = change if switched else nn.Conv(*sizes, 2, stride=2, transposed=up)
    return nn.Sequential(bare_norm(sizes[0]), change, component=Component.CONV)


def ends(inputs: int, width: int, outputs: int) -> dict[str, nn.Module]:
    """What makes vectors of patches, and patches of vectors."""
    norm = bare_norm(width)
    head = Component.HEAD
    into = nn.Conv(inputs, width, 1, component=Component.EMBEDDING)
    out = nn.Conv(width, outputs, 1, component=head)
    shuffle = nn.Activation("PixelShuffle")
    return {
        "embedding": nn.Sequential(nn.Activation("PixelUnshuffle"), into, norm, kind="patch"),
        "clf": nn.Sequential(norm, out, shuffle, component=head),
    }
