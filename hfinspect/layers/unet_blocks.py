"""The rarer rungs of a UNet2DConditionModel: DeepFloyd IF's and Kandinsky's, and the k-upscalers'.

Source of shapes: diffusers/models/unets/unet_2d_blocks.py (Resnet..., SimpleCrossAttn..., K...),
attention_processor.py and resnet.py (ResnetBlockCondNorm2D).
"""

from __future__ import annotations

from functools import partial

from ..core.components import Component
from ..trees import modules as nn
from .diffusion import Rung, attention


def added_attention(
    channels: int, head: int, groups: int, context: int, norm: str | None, *, alone: bool
) -> nn.Module:
    """Attention over the image's own positions, to whose keys and values the text's are added; not
    those of the text ``alone``. Heads have ``head`` channels each; what does not divide is left
    out. ``norm``: of the text, before it is projected."""
    inner = channels // head * head
    norms = {"layer_norm": nn.LayerNorm(channels), "group_norm": nn.GroupNorm(32, context)}
    key = nn.Linear(channels, inner, kind="key")
    value = nn.Linear(channels, inner, kind="value")
    return nn.Module(
        "Attention",
        group_norm=nn.GroupNorm(groups, channels),
        norm_cross=norms.get(norm or ""),
        to_q=nn.Linear(channels, inner, kind="query"),
        to_k=None if alone else key,
        to_v=None if alone else value,
        add_k_proj=nn.Linear(context, inner, kind="key"),
        add_v_proj=nn.Linear(context, inner, kind="value"),
        to_out=nn.ModuleList([nn.Linear(inner, channels, kind="output"), nn.Dropout(0.0)]),
        component=Component.ATTENTION,
    )


# ---- the k-upscalers: norms of which the time says scale and shift


def _ada_group_norm(time: int, width: int) -> nn.Module:
    return nn.Module("AdaGroupNorm", linear=nn.Linear(time, 2 * width), component=Component.NORM)


def _conditioned(inputs: int, inside: int, outputs: int, time: int) -> nn.Module:
    shortcut = nn.Conv(inputs, outputs, 1, bias=False) if int(inputs) != int(outputs) else None
    return nn.Module(
        "ResnetBlockCondNorm2D",
        norm1=_ada_group_norm(time, inputs),
        conv1=nn.Conv(inputs, inside, 3),
        norm2=_ada_group_norm(time, inside),
        dropout=nn.Dropout(0.0),
        conv2=nn.Conv(inside, outputs, 3),
        nonlinearity=nn.Activation("GELU"),
        conv_shortcut=shortcut,
        component=Component.CONV,
    )


def _k_attention(width: int, time: int, head: int, context: int, *, inward: bool) -> nn.Module:
    """``inward``: it looks at the image as well."""
    inner = width // head * head
    across = attention(width, inner, context=context, bias=True)
    across.children["norm_cross"] = nn.LayerNorm(context)
    norm = _ada_group_norm(time, width)
    look = attention(width, inner, bias=True)
    first = {"norm1": norm, "attn1": look} if inward else {}
    return nn.Module("KAttentionBlock", {**first, "norm2": norm, "attn2": across})


def k_block(rung: Rung, above: int, time: int, head: int | None, context: int) -> nn.Module:
    """A rung without residual blocks' time projections, each block followed by attention to the
    ``context`` where there are heads; a fixed kernel, which is not saved, changes the resolution.

    On the way up it has one residual block fewer than elsewhere; the last one makes the width of
    the rung ``above``. The lowest, as wide as the time's embedding, gets nothing next to it.
    Source: unets/unet_2d_blocks.py (KDownBlock2D, KCrossAttnDownBlock2D, and Up for Down).
    """
    layers = len(rung.coming) - rung.up
    width = rung.width
    lowest = int(above) == int(width) == int(time)
    alone = lowest and head is not None
    first, last = (width if alone else 2 * width, above) if rung.up else (above, width)
    rest = [width] * (layers - 1)
    going = [*rest, last][:layers]
    resnets = [
        _conditioned(came, goes if head is None else width, goes, time)
        for came, goes in zip([first, *rest][:layers], going, strict=True)
    ]
    attend = partial(_k_attention, inward=lowest if rung.up else rung.last)
    attentions = [] if head is None else [attend(goes, time, head, context) for goes in going]
    return nn.Module(
        rung.kind,
        resnets=nn.ModuleList(resnets),
        attentions=nn.ModuleList(attentions) if attentions else None,
    )
