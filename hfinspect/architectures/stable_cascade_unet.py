"""StableCascadeUNet: both stages of Stable Cascade (Pernias et al. 2023, Würstchen).

Source of shapes: diffusers/models/unets/unet_stable_cascade.py. A level is a repeated row of
ConvNeXt-like blocks, time blocks and cross-attention; the first block on the way up takes the way
down's output as well.
"""

from typing import Any

from ..core.components import Component
from ..core.config import MAX_COUNT, ModelConfig
from ..core.dims import Dim
from ..layers.diffusion import attention, per_block, widths
from ..layers.vision import bounded
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
    Parameter,
    Sequential,
    Weight,
)

_RES, _TIME, _ATTENTION = "SDCascadeResBlock", "SDCascadeTimestepBlock", "SDCascadeAttnBlock"
_ROW = (_RES, _TIME, _ATTENTION)


def _bare_norm(width: int) -> Module:
    return LayerNorm(width, eps=1e-6, weight=False, class_name="SDCascadeLayerNorm")


def res_block(width: int, skip: int, kernel: int) -> Module:
    inner = 4 * width
    response = Module(
        "GlobalResponseNorm",
        gamma=Weight(1, 1, 1, inner),
        beta=Weight(1, 1, 1, inner),
        component=Component.NORM,
    )
    return Module(
        _RES,
        depthwise=Conv(width, width, kernel, groups=width),
        norm=_bare_norm(width),
        channelwise=Sequential(
            Linear(width + skip if skip else width, inner, kind="up"),
            Activation("GELU"),
            response,
            Dropout(0.1),
            Linear(inner, width, kind="down"),
            component=Component.CONV,
        ),
    )


def time_block(c: ModelConfig, width: int) -> Module:
    embedded = c.dim("timestep_ratio_embedding_dim", default=64)
    names = c.strings("timestep_conditioning_type", default=("sca", "crp"))
    mappers: dict[str, Module | Parameter | None] = {"mapper": Linear(embedded, 2 * width)}
    mappers |= {f"mapper_{name}": Linear(embedded, 2 * width) for name in names}
    return Module(_TIME, mappers, component=Component.PROJECTOR)


def attention_block(width: Dim, heads: Dim, condition: Dim) -> Module:
    mapper = Sequential(Activation("SiLU"), Linear(condition, width), component=Component.ATTENTION)
    return Module(
        _ATTENTION,
        norm=_bare_norm(width),
        attention=attention(width, heads * (width // heads), bias=True),
        kv_mapper=mapper,
    )


def resized(above: int, width: int, *, up: bool, switched: bool = False) -> Module:
    """From the level above, or back to it with ``up``; ``switched``: by interpolation."""
    inputs, outputs = (width, above) if up else (above, width)
    change = Conv(inputs, outputs, 2, stride=2, transposed=up)
    if switched:
        steps = [Conv(inputs, outputs, 1), Activation("Upsample")]
        change = Module("UpDownBlock2d", blocks=ModuleList(steps[::-1] if up else steps))
    return Sequential(_bare_norm(inputs), change, component=Component.CONV)


class _Levels:
    """The lists of the config, one entry per level."""

    def __init__(self, c: ModelConfig) -> None:
        self.config = c
        self.widths = widths(c, default=(2048, 2048))
        self.count = len(self.widths)
        self.heads = per_block(c, "num_attention_heads", self.count, 32)
        self.down = self._counts("down_num_layers_per_block", (8, 24))
        self.up = self._counts("up_num_layers_per_block", (24, 8))[::-1]
        self.down_repeats = self._counts("down_blocks_repeat_mappers", (1, 1))
        self.up_repeats = self._counts("up_blocks_repeat_mappers", (1, 1))[::-1]
        self.rows = self._rows()
        self.switched = c.flags("switch_level") if c.has("switch_level") else None
        if self.switched is not None and len(self.switched) < self.count - 1:
            raise c.error("switch_level", list(self.switched), f"{self.count - 1} entries")

    def _counts(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        found = self.config.dims(key, default=default, minimum=0)
        if len(found) != self.count:
            raise self.config.error(key, self.config.raw(key), f"{self.count} entries")
        return tuple(int(number) for number in bounded(self.config, key, found))

    def _rows(self) -> list[list[str]]:
        key = "block_types_per_layer"
        rows: Any = self.config.raw(key) or [list(_ROW)] * self.count
        if not isinstance(rows, list) or len(rows) != self.count:
            raise self.config.error(key, rows, f"{self.count} lists, one per level")
        for row in rows:
            if not isinstance(row, list) or len(row) > MAX_COUNT:
                raise self.config.error(key, row, "lists of block types")
            for name in row:
                if name not in _ROW:
                    raise self.config.error(key, name, f"one of {', '.join(_ROW)}")
        return rows

    def blocks(self, level: int, repeats: int, *, skip: bool) -> ModuleList:
        """The row, ``repeats`` times; with ``skip`` the very first block is wider."""
        c, width, row, heads = self.config, self.widths[level], self.rows[level], self.heads[level]
        kernel = int(c.dim("kernel_size", default=3))
        made = {_RES: res_block(width, 0, kernel), _TIME: time_block(c, width)}
        if _ATTENTION in row:
            if not heads:
                raise c.error("num_attention_heads", 0, "at least 1 where a level has attention")
            condition = c.dim("conditioning_dim", default=2048)
            made[_ATTENTION] = attention_block(width, heads, condition)
        blocks = [made[name] for _ in range(repeats) for name in row]
        if skip and blocks and row[0] == _RES:
            blocks[0] = res_block(width, width, kernel)
        return ModuleList(blocks)

    def resized(self, level: int, *, up: bool) -> Module:
        if not level:
            return Activation("Identity")
        above, switched = self.widths[level - 1], self.switched is not None
        return resized(above, self.widths[level], up=up, switched=switched)

    def repeat_mappers(self, level: int, repeats: int) -> ModuleList:
        width = self.widths[level]
        return ModuleList([Conv(width, width, 1)] * max(repeats - 1, 0))


def conditions(c: ModelConfig, first: Dim) -> dict[str, Module | Parameter | None]:
    """What reads the images and the text that the config says are given."""
    told, tokens = c.dim("conditioning_dim", default=2048), c.dim("clip_seq", default=4)

    def image(key: str) -> Module | None:
        channels = c.optional_dim(key)
        if channels is None:
            return None
        return Sequential(
            Conv(channels, 4 * first, 1),
            Activation("GELU"),
            Conv(4 * first, first, 1),
            _bare_norm(first),
            component=Component.PROJECTOR,
        )

    def linear(width: Dim | None, outputs: Dim) -> Module | None:
        return None if width is None else Linear(width, outputs, component=Component.PROJECTOR)

    return {
        "effnet_mapper": image("effnet_in_channels"),
        "pixels_mapper": image("pixel_mapper_in_channels"),
        "clip_txt_pooled_mapper": linear(
            c.dim("clip_text_pooled_in_channels", default=1280), told * tokens
        ),
        "clip_txt_mapper": linear(c.optional_dim("clip_text_in_channels"), told),
        "clip_img_mapper": linear(c.optional_dim("clip_image_in_channels"), told * tokens),
        "clip_norm": _bare_norm(told),
    }


def model(c: ModelConfig) -> Module:
    levels = _Levels(c)
    first, order = levels.widths[0], range(levels.count)
    patch = c.dim("patch_size", default=1)
    inputs = c.dim("in_channels", default=16) * patch * patch
    outputs = c.dim("out_channels", default=16) * patch * patch
    return Module(
        "StableCascadeUNet",
        {
            **conditions(c, first),
            "embedding": Sequential(
                Activation("PixelUnshuffle"),
                Conv(inputs, first, 1, component=Component.EMBEDDING),
                _bare_norm(first),
                component=Component.EMBEDDING,
                kind="patch",
            ),
            "down_blocks": Layers(levels.blocks(i, levels.down[i], skip=False) for i in order),
            "down_downscalers": ModuleList(levels.resized(i, up=False) for i in order),
            "down_repeat_mappers": ModuleList(
                levels.repeat_mappers(i, levels.down_repeats[i]) for i in order
            ),
            "up_blocks": Layers(
                levels.blocks(i, levels.up[i], skip=i < levels.count - 1) for i in order[::-1]
            ),
            "up_upscalers": ModuleList(levels.resized(i, up=True) for i in order[::-1]),
            "up_repeat_mappers": ModuleList(
                levels.repeat_mappers(i, levels.up_repeats[i]) for i in order[::-1]
            ),
            "clf": Sequential(
                _bare_norm(first),
                Conv(first, outputs, 1, component=Component.HEAD),
                Activation("PixelShuffle"),
                component=Component.HEAD,
            ),
        },
        part="vision",
    )


register((), {"StableCascadeUNet": model}, category="diffusion", source="diffusers")
