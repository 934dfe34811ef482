"""WuerstchenDiffNeXt: the decoder of Würstchen (Pernias et al. 2023).

Source of shapes: diffusers/pipelines/deprecated/wuerstchen/modeling_wuerstchen_diffnext.py.
Stable Cascade's levels of ConvNeXt-like blocks (C), time blocks (T) and cross-attention (A), in the
order of a word.
"""

from ..core.components import Component
from ..core.config import MAX_COUNT, ModelConfig
from ..core.dims import Dim
from ..trees.catalog import register
from ..trees.modules import Conv, LayerNorm, Layers, Linear, Module, ModuleList
from .stable_cascade_unet import attention_block, ends, res_block, resized, row, time_block

_NAME = "Wuerstchen"


def _conv_block(width: Dim, skip: int, kernel: Dim) -> Module:
    return res_block(width, skip, int(kernel), class_name="ResBlockStageB", name=_NAME)


def _levels(c: ModelConfig, widths: tuple[Dim, ...], *, up: bool) -> Layers:
    """Down, or ``up`` again: a row of blocks for each entry of the config's lists."""
    count, condition = len(widths), c.dim("c_cond", default=1024)
    heads = c.dims("nhead", default=(-1, 10, 20, 20), minimum=-1, count=count)
    repeats = c.dims("blocks", default=(4, 4, 14, 4), minimum=0, maximum=MAX_COUNT, count=count)
    words = c.strings("level_config", default=("CT", "CTA", "CTA", "CTA"), count=count)
    kernel, time = c.dim("kernel_size", default=3), c.dim("c_r", default=64)
    levels = []
    for i, (width, word, given) in enumerate(zip(widths, words, _given(c, count), strict=True)):
        if set(word) - set("CTA"):
            raise c.error("level_config", word, "words of C, T and A")
        skip = condition if given else 0
        made = {
            "C": _conv_block(width, skip, kernel),
            "T": time_block("TimestepBlock", time, width),
        }
        if "A" in word:
            if heads[i] < 1:
                raise c.error("nhead", int(heads[i]), "at least 1 where a level has attention")
            made["A"] = attention_block(
                width, heads[i], condition, class_name="AttnBlock", name=_NAME
            )
        wider = _conv_block(width, width + skip, kernel) if up and i < count - 1 else None
        blocks = row(made, word, int(repeats[i]), wider)
        change = [resized(widths[i - 1], width, up=up, name=_NAME)] if i else []
        levels.append(ModuleList([*blocks, *change] if up else [*change, *blocks]))
    return Layers(levels[::-1] if up else levels)


def _given(c: ModelConfig, count: int) -> tuple[bool, ...]:
    """Which levels are given what EfficientNet makes of the image."""
    return c.flags("inject_effnet", default=(False, True, True, True), count=count)


def model(c: ModelConfig) -> Module:
    widths = c.dims("c_hidden", default=(320, 640, 1280, 1280))
    if not widths:
        raise c.error("c_hidden", [], "at least one width")
    area, condition = c.dim("patch_size", default=2) ** 2, c.dim("c_cond", default=1024)
    inputs, outputs = c.dim("c_in", default=4) * area, 2 * c.dim("c_out", default=4) * area
    clip = Linear(c.dim("clip_embd", default=1024), condition, component=Component.PROJECTOR)
    effnet, given = Conv(c.dim("effnet_embd", default=16), condition, 1), _given(c, len(widths))
    mapped = [i for i, mapped in enumerate((*given, *given[::-1])) if mapped]
    ends_of = ends(inputs, widths[0], outputs, _NAME)
    return Module(
        "WuerstchenDiffNeXt",
        clip_mapper=clip,
        effnet_mappers=Module("ModuleList", {str(i): effnet for i in mapped}),
        seq_norm=LayerNorm(condition, eps=1e-6, weight=False),
        embedding=ends_of["embedding"],
        down_blocks=_levels(c, widths, up=False),
        up_blocks=_levels(c, widths, up=True),
        clf=ends_of["clf"],
        part="vision",
    )


register((), {"WuerstchenDiffNeXt": model}, category="diffusion", source="diffusers")
