"""StableCascadeUNet: both stages of Stable Cascade (Pernias et al. 2023, Würstchen).

Source of shapes: diffusers/models/unets/unet_stable_cascade.py. A level is a repeated row of
ConvNeXt-like blocks, time blocks and cross-attention.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ..core.components import Component
from ..core.config import MAX_COUNT, ModelConfig
from ..core.dims import Dim
from ..layers.diffusion import attention, per_block, widths
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

_HEADS, _CONDITION = "num_attention_heads", "conditioning_dim"
ROW = RES, TIME, ATTENTION = [f"SDCascade{x}Block" for x in ("Res", "Timestep", "Attn")]


def bare_norm(width: int) -> Module:
    return LayerNorm(width, eps=1e-6, weight=False, class_name="SDCascadeLayerNorm")


def res_block(width: int, skip: int, kernel: int) -> Module:
    """A depthwise convolution and an MLP, which takes ``skip`` further channels: 8·W² + 4·W·S."""
    inner = 4 * width
    response = {name: Weight(1, 1, 1, inner) for name in ("gamma", "beta")}
    return Module(
        RES,
        depthwise=Conv(width, width, kernel, groups=width),
        norm=bare_norm(width),
        channelwise=Sequential(
            Linear(width + skip if skip else width, inner, kind="up"),
            Activation("GELU"),
            Module("GlobalResponseNorm", response, component=Component.NORM),
            Dropout(0.1),
            Linear(inner, width, kind="down"),
            component=Component.CONV,
        ),
    )


def time_block(embedded: int, width: int, names: Sequence[str] = ()) -> Module:
    """Scale and shift from the time's embedding, and from that of each further condition."""
    keys = ("mapper", *(f"mapper_{name}" for name in names))
    mappers = {key: Linear(embedded, 2 * width) for key in keys}
    return Module(TIME, mappers, component=Component.PROJECTOR)


def attention_block(c: ModelConfig, key: str, width: Dim, heads: Dim, condition: Dim) -> Module:
    """Attention to the condition and to the level itself; ``key`` has the number of heads."""
    if heads < 1:
        raise c.error(key, int(heads), "at least 1 where a level has attention")
    mapper = Sequential(Activation("SiLU"), Linear(condition, width), component=Component.ATTENTION)
    look = attention(width, heads * (width // heads), bias=True)
    return Module(ATTENTION, norm=bare_norm(width), attention=look, kv_mapper=mapper)


def level(
    names: Sequence[str], repeats: int, made: Mapping[str, Module], wider: Module | None
) -> list[Module]:
    """The blocks with these ``names``, ``repeats`` times; the very first, if that is a residual
    one, may be a ``wider`` one."""
    blocks = [made[name] for name in names] * repeats
    return [wider, *blocks[1:]] if wider and blocks and names[0] == RES else blocks


def resized(above: int, width: int, *, up: bool, switched: bool = False) -> Module:
    """From the level above, or back to it with ``up``; ``switched``: by interpolation."""
    inputs, outputs = (width, above) if up else (above, width)
    change = Conv(inputs, outputs, 2, stride=2, transposed=up)
    if switched:
        steps = [Conv(inputs, outputs, 1), Activation("Upsample")]
        change = Module("UpDownBlock2d", blocks=ModuleList(steps[::-1] if up else steps))
    return Sequential(bare_norm(inputs), change, component=Component.CONV)


def ends(inputs: int, width: int, outputs: int) -> tuple[Module, Module]:
    """What makes vectors of patches, and patches of vectors."""
    into = Conv(inputs, width, 1, component=Component.EMBEDDING)
    out = Conv(width, outputs, 1, component=Component.HEAD)
    return (
        Sequential(Activation("PixelUnshuffle"), into, bare_norm(width), kind="patch"),
        Sequential(bare_norm(width), out, Activation("PixelShuffle"), component=Component.HEAD),
    )


def _way(c: ModelConfig, channels: Sequence[Dim], *, up: bool) -> dict[str, Module]:
    """The levels down, or ``up`` again; lists of the config are in the order of the way."""
    side, count = "up" if up else "down", len(channels)
    numbers = partial(c.dims, minimum=0, maximum=MAX_COUNT, count=count)
    layers = numbers(f"{side}_num_layers_per_block", default=(24, 8) if up else (8, 24))
    repeats = numbers(f"{side}_blocks_repeat_mappers", default=(1, 1))
    heads, key = per_block(c, _HEADS, count, 32), "block_types_per_layer"
    given: Any = c.raw(key) or [ROW] * count
    if not isinstance(given, list) or len(given) != count:
        raise c.error(key, given, f"{count} lists, one per level")
    each = ModelConfig({f"{key}[{i}]": names for i, names in enumerate(given)}, c.path)
    rows = [each.strings(at) for at in each.given]
    if unknown := {name for names in rows for name in names} - {*ROW}:
        raise c.error(key, sorted(unknown), f"some of {', '.join(ROW)}")
    kernel, condition = int(c.dim("kernel_size", default=3)), c.dim(_CONDITION, default=2048)
    embedded = c.dim("timestep_ratio_embedding_dim", default=64)
    conditions = c.strings("timestep_conditioning_type", default=("sca", "crp"))
    switched = c.has("switch_level")
    if switched and len(c.flags("switch_level")) < count - 1:
        raise c.error("switch_level", c.raw("switch_level"), f"{count - 1} entries")
    levels, scalers, mappers = list[Module](), list[Module](), list[Module]()
    order = range(count)[:: -1 if up else 1]
    for i, deep, repeated in zip(order, map(int, layers), map(int, repeats), strict=True):
        width = channels[i]
        made = {RES: res_block(width, 0, kernel), TIME: time_block(embedded, width, conditions)}
        if ATTENTION in rows[i]:
            made[ATTENTION] = attention_block(c, _HEADS, width, heads[i], condition)
        wider = res_block(width, width, kernel) if up and i < count - 1 else None
        levels.append(ModuleList(level(rows[i], deep, made, wider)))
        change = resized(channels[i - 1], width, up=up, switched=switched)
        scalers.append(change if i else Activation("Identity"))
        mappers.append(ModuleList([Conv(width, width, 1)] * max(repeated - 1, 0)))
    return {
        f"{side}_blocks": Layers(levels),
        f"{side}_{side}scalers": ModuleList(scalers),
        f"{side}_repeat_mappers": ModuleList(mappers),
    }


def model(c: ModelConfig) -> Module:
    channels = widths(c, default=(2048, 2048))
    first, area, to = channels[0], c.dim("patch_size", default=1) ** 2, Component.PROJECTOR
    width, tokens = c.dim(_CONDITION, default=2048), c.dim("clip_seq", default=4)
    inputs, outputs = (c.dim(f"{x}_channels", default=16) * area for x in ("in", "out"))
    embedding, clf = ends(inputs, first, outputs)

    def image(key: str) -> Module | None:
        channels = c.optional_dim(key)
        if channels is None:
            return None
        into, act = Conv(channels, 4 * first, 1), Activation("GELU")
        return Sequential(into, act, Conv(4 * first, first, 1), bare_norm(first), component=to)

    def linear(seen: Dim | None, outputs: Dim) -> Module | None:
        return None if seen is None else Linear(seen, outputs, component=to)

    pooled = c.dim("clip_text_pooled_in_channels", default=1280)
    return Module(
        "StableCascadeUNet",
        {
            "effnet_mapper": image("effnet_in_channels"),
            "pixels_mapper": image("pixel_mapper_in_channels"),
            "clip_txt_pooled_mapper": linear(pooled, width * tokens),
            "clip_txt_mapper": linear(c.optional_dim("clip_text_in_channels"), width),
            "clip_img_mapper": linear(c.optional_dim("clip_image_in_channels"), width * tokens),
            "clip_norm": bare_norm(width),
            "embedding": embedding,
            **_way(c, channels, up=False),
            **_way(c, channels, up=True),
            "clf": clf,
        },
        part="vision",
    )


register((), {"StableCascadeUNet": model}, category="diffusion", source="diffusers")
