"""StableCascadeUNet: both stages of Stable Cascade (Pernias et al. 2023, Würstchen).

Source of shapes: diffusers/models/unets/unet_stable_cascade.py. A level is a repeated row of
ConvNeXt-like blocks, time blocks and cross-attention; the first block on the way up takes the way
down's output as well.
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

_NAME = "SDCascade"
_ROW = _RES, _TIME, _ATTENTION = [f"{_NAME}{x}Block" for x in ("Res", "Timestep", "Attn")]


def bare_norm(width: int, name: str = _NAME) -> Module:
    """A norm over channels, without weights."""
    return LayerNorm(width, eps=1e-6, weight=False, class_name=f"{name}LayerNorm")


def res_block(
    width: int, skip: int, kernel: int, *, class_name: str = _RES, name: str = _NAME
) -> Module:
    """A depthwise convolution and an MLP, which takes ``skip`` further channels: 8·W² + 4·W·S
    weights; ``name`` begins that of its norm."""
    inner = 4 * width
    response = {name: Weight(1, 1, 1, inner) for name in ("gamma", "beta")}
    return Module(
        class_name,
        depthwise=Conv(width, width, kernel, groups=width),
        norm=bare_norm(width, name),
        channelwise=Sequential(
            Linear(width + skip if skip else width, inner, kind="up"),
            Activation("GELU"),
            Module("GlobalResponseNorm", response, component=Component.NORM),
            Dropout(0.1),
            Linear(inner, width, kind="down"),
            component=Component.CONV,
        ),
    )


def time_block(class_name: str, embedded: int, width: int, names: Sequence[str] = ()) -> Module:
    """Scale and shift from the time's embedding, and from that of each further condition."""
    keys = ("mapper", *(f"mapper_{name}" for name in names))
    mappers = {key: Linear(embedded, 2 * width) for key in keys}
    return Module(class_name, mappers, component=Component.PROJECTOR)


def attention_block(
    width: Dim, heads: Dim, condition: Dim, *, class_name: str = _ATTENTION, name: str = _NAME
) -> Module:
    """Attention to the condition and to the level itself."""
    mapper = Sequential(Activation("SiLU"), Linear(condition, width), component=Component.ATTENTION)
    return Module(
        class_name,
        norm=bare_norm(width, name),
        attention=attention(width, heads * (width // heads), bias=True),
        kv_mapper=mapper,
    )


def row(
    made: Mapping[str, Module], names: Sequence[str], repeats: int, wider: Module | None
) -> list[Module]:
    """The blocks with these ``names``, ``repeats`` times; the very first, if that is the first that
    can be made, may be a ``wider`` one."""
    blocks = [made[name] for _ in range(repeats) for name in names]
    if wider is not None and blocks and names[0] == next(iter(made)):
        blocks[0] = wider
    return blocks


def resized(
    above: int, width: int, *, up: bool, switched: bool = False, name: str = _NAME
) -> Module:
    """From the level above, or back to it with ``up``; ``switched``: by interpolation."""
    inputs, outputs = (width, above) if up else (above, width)
    change = Conv(inputs, outputs, 2, stride=2, transposed=up)
    if switched:
        steps = [Conv(inputs, outputs, 1), Activation("Upsample")]
        change = Module("UpDownBlock2d", blocks=ModuleList(steps[::-1] if up else steps))
    return Sequential(bare_norm(inputs, name), change, component=Component.CONV)


def ends(inputs: int, width: int, outputs: int, name: str = _NAME) -> dict[str, Module]:
    """What makes vectors of patches, and patches of vectors."""
    into = Conv(inputs, width, 1, component=Component.EMBEDDING)
    out = Conv(width, outputs, 1, component=Component.HEAD)
    norm = bare_norm(width, name)
    return {
        "embedding": Sequential(Activation("PixelUnshuffle"), into, norm, kind="patch"),
        "clf": Sequential(norm, out, Activation("PixelShuffle"), component=Component.HEAD),
    }


def _rows(c: ModelConfig, count: int) -> list[tuple[str, ...]]:
    key = "block_types_per_layer"
    rows: Any = c.raw(key) or [list(_ROW)] * count
    if not isinstance(rows, list) or len(rows) != count:
        raise c.error(key, rows, f"{count} lists, one per level")
    each = ModelConfig({f"{key}[{i}]": names for i, names in enumerate(rows)}, c.path)
    found = [each.strings(f"{key}[{i}]") for i in range(count)]
    for name in (name for names in found for name in names):
        if name not in _ROW:
            raise c.error(key, name, f"one of {', '.join(_ROW)}")
    return found


def _way(c: ModelConfig, channels: Sequence[Dim], *, up: bool) -> dict[str, Module]:
    """The levels down, or ``up`` again; lists of the config are in the order of the way."""
    side, count = "up" if up else "down", len(channels)
    order = range(count)[:: -1 if up else 1]
    numbers = partial(c.dims, minimum=0, maximum=MAX_COUNT, count=count)
    layers = numbers(f"{side}_num_layers_per_block", default=(24, 8) if up else (8, 24))
    repeats = numbers(f"{side}_blocks_repeat_mappers", default=(1, 1))
    heads, rows = per_block(c, "num_attention_heads", count, 32), _rows(c, count)
    kernel, condition = c.dim("kernel_size", default=3), c.dim("conditioning_dim", default=2048)
    embedded = c.dim("timestep_ratio_embedding_dim", default=64)
    conditions = c.strings("timestep_conditioning_type", default=("sca", "crp"))
    switched = c.flags("switch_level") if c.has("switch_level") else None
    if switched is not None and len(switched) < count - 1:
        raise c.error("switch_level", list(switched), f"{count - 1} entries")

    def blocks(i: int, repeated: int) -> ModuleList:
        width = channels[i]
        made = {
            _RES: res_block(width, 0, int(kernel)),
            _TIME: time_block(_TIME, embedded, width, conditions),
        }
        if _ATTENTION in rows[i]:
            if not heads[i]:
                raise c.error("num_attention_heads", 0, "at least 1 where a level has attention")
            made[_ATTENTION] = attention_block(width, heads[i], condition)
        wider = res_block(width, width, int(kernel)) if up and i < count - 1 else None
        return ModuleList(row(made, rows[i], repeated, wider))

    def scaler(i: int) -> Module:
        if not i:
            return Activation("Identity")
        return resized(channels[i - 1], channels[i], up=up, switched=switched is not None)

    def mappers(i: int, repeated: int) -> ModuleList:
        return ModuleList([Conv(channels[i], channels[i], 1)] * max(repeated - 1, 0))

    return {
        f"{side}_blocks": Layers(map(blocks, order, map(int, layers))),
        f"{side}_{side}scalers": ModuleList(map(scaler, order)),
        f"{side}_repeat_mappers": ModuleList(map(mappers, order, map(int, repeats))),
    }


def _conditions(c: ModelConfig, first: Dim) -> dict[str, Module | None]:
    """What reads the images and the text that the config says are given."""
    told, tokens = c.dim("conditioning_dim", default=2048), c.dim("clip_seq", default=4)

    def image(key: str) -> Module | None:
        channels = c.optional_dim(key)
        if channels is None:
            return None
        first_conv, act = Conv(channels, 4 * first, 1), Activation("GELU")
        steps = (first_conv, act, Conv(4 * first, first, 1), bare_norm(first))
        return Sequential(*steps, component=Component.PROJECTOR)

    def linear(width: Dim | None, outputs: Dim) -> Module | None:
        return None if width is None else Linear(width, outputs, component=Component.PROJECTOR)

    pooled = c.dim("clip_text_pooled_in_channels", default=1280)
    return {
        "effnet_mapper": image("effnet_in_channels"),
        "pixels_mapper": image("pixel_mapper_in_channels"),
        "clip_txt_pooled_mapper": linear(pooled, told * tokens),
        "clip_txt_mapper": linear(c.optional_dim("clip_text_in_channels"), told),
        "clip_img_mapper": linear(c.optional_dim("clip_image_in_channels"), told * tokens),
        "clip_norm": bare_norm(told),
    }


def model(c: ModelConfig) -> Module:
    channels = widths(c, default=(2048, 2048))
    first, area = channels[0], c.dim("patch_size", default=1) ** 2
    inputs, outputs = (c.dim(f"{x}_channels", default=16) * area for x in ("in", "out"))
    ends_of = ends(inputs, first, outputs)
    return Module(
        "StableCascadeUNet",
        {
            **_conditions(c, first),
            "embedding": ends_of["embedding"],
            **_way(c, channels, up=False),
            **_way(c, channels, up=True),
            "clf": ends_of["clf"],
        },
        part="vision",
    )


register((), {"StableCascadeUNet": model}, category="diffusion", source="diffusers")
