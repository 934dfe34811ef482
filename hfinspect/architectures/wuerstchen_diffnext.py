"""WuerstchenDiffNeXt: the decoder of Würstchen (Pernias et al. 2023).

Source of shapes: diffusers/pipelines/deprecated/wuerstchen/modeling_wuerstchen_diffnext.py.
Stable Cascade's levels: ConvNeXt-like blocks (C), time blocks (T), attention (A), as a word says.
"""

from ..core.components import Component
from ..core.config import MAX_COUNT, ModelConfig
from ..core.dims import Dim
from ..layers.composing import renamed
from ..trees.catalog import register
from ..trees.modules import Conv, LayerNorm, Layers, Linear, Module, ModuleList
from . import stable_cascade_unet as cascade
from .stable_cascade_unet import ATTENTION, RES, TIME

_BLOCKS = {"C": RES, "T": TIME, "A": ATTENTION}
#: How the classes of Stable Cascade are called here.
_NAMES = {
    RES: "ResBlockStageB", TIME: "TimestepBlock", ATTENTION: "AttnBlock",
    "SDCascadeLayerNorm": "WuerstchenLayerNorm",
}  # fmt: skip


def _levels(
    c: ModelConfig, widths: tuple[Dim, ...], given: tuple[bool, ...], *, up: bool
) -> Layers:
    """Down, or ``up`` again: a row of blocks for each entry of the config's lists; some are
    ``given`` what EfficientNet makes of the image."""
    count, condition = len(widths), c.dim("c_cond", default=1024)
    heads = c.dims("nhead", default=(-1, 10, 20, 20), minimum=-1, count=count)
    repeats = c.dims("blocks", default=(4, 4, 14, 4), minimum=0, maximum=MAX_COUNT, count=count)
    words = c.strings("level_config", default=("CT", "CTA", "CTA", "CTA"), count=count)
    kernel, embedded = int(c.dim("kernel_size", default=3)), c.dim("c_r", default=64)
    levels = []
    for i, (width, word) in enumerate(zip(widths, words, strict=True)):
        if set(word) - set("CTA"):
            raise c.error("level_config", word, "words of C, T and A")
        skip, names = condition if given[i] else 0, [_BLOCKS[x] for x in word]
        time = cascade.time_block(embedded, width)
        made = {RES: cascade.res_block(width, skip, kernel), TIME: time}
        if "A" in word:
            made[ATTENTION] = cascade.attention_block(c, "nhead", width, heads[i], condition)
        wider = cascade.res_block(width, width + skip, kernel) if up and i < count - 1 else None
        blocks = cascade.level(names, int(repeats[i]), made, wider)
        change = [cascade.resized(widths[i - 1], width, up=up)] if i else []
        levels.append(ModuleList([*blocks, *change] if up else [*change, *blocks]))
    return Layers(levels[::-1] if up else levels)


def model(c: ModelConfig) -> Module:
    widths = c.dims("c_hidden", default=(320, 640, 1280, 1280), least=1)
    area, condition = c.dim("patch_size", default=2) ** 2, c.dim("c_cond", default=1024)
    inputs, outputs = c.dim("c_in", default=4) * area, 2 * c.dim("c_out", default=4) * area
    effnet = Conv(c.dim("effnet_embd", default=16), condition, 1)
    given = c.flags("inject_effnet", default=(False, True, True, True), count=len(widths))
    mapped = [str(i) for i, mapped in enumerate((*given, *given[::-1])) if mapped]
    embedding, clf = cascade.ends(inputs, widths[0], outputs)
    root = Module(
        "WuerstchenDiffNeXt",
        clip_mapper=Linear(
            c.dim("clip_embd", default=1024), condition, component=Component.PROJECTOR
        ),
        effnet_mappers=Module("ModuleList", dict.fromkeys(mapped, effnet)),
        seq_norm=LayerNorm(condition, eps=1e-6, weight=False),
        embedding=embedding,
        down_blocks=_levels(c, widths, given, up=False),
        up_blocks=_levels(c, widths, given, up=True),
        clf=clf,
        part="vision",
    )
    for old, new in _NAMES.items():
        renamed(root, old, new)
    return root


register((), {"WuerstchenDiffNeXt": model}, category="diffusion", source="diffusers")
