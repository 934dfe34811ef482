"""WuerstchenDiffNeXt: the decoder of Würstchen (Pernias et al. 2023), of Stable Cascade's levels.
Source: diffusers/pipelines/deprecated/wuerstchen/modeling_wuerstchen_diffnext.py."""

from functools import partial

from ..core.config import MAX_COUNT, ModelConfig
from ..layers.cascade import ATTENTION, RES, TIME, ends, level, resized
from ..layers.composing import renamed
from ..trees import Component, Conv, Dim, LayerNorm, Layers, Linear, Module, ModuleList, register

_BLOCKS = {"C": RES, "T": TIME, "A": ATTENTION}
#: How the classes of Stable Cascade are called here.
_NAMES = {
    RES: "ResBlockStageB",
    TIME: "TimestepBlock",
    ATTENTION: "AttnBlock",
    "SDCascadeLayerNorm": "WuerstchenLayerNorm",
}


def model(c: ModelConfig) -> Module:
    widths = c.dims("c_hidden", default=(320, 640, 1280, 1280), least=1)
    area = c.dim("patch_size", default=2) ** 2
    condition = c.dim("c_cond", default=1024)
    inputs = c.dim("c_in", default=4) * area
    outputs = 2 * c.dim("c_out", default=4) * area
    effnet = Conv(c.dim("effnet_embd", default=16), condition, 1)
    count = len(widths)
    injected = c.flags("inject_effnet", default=(False, True, True, True), count=count)
    mapped = [str(i) for i, mapped in enumerate((*injected, *injected[::-1])) if mapped]
    clip_width = c.dim("clip_embd", default=1024)
    end = ends(inputs, widths[0], outputs)
    heads = c.dims("nhead", default=(-1, 10, 20, 20), minimum=-1, count=count)
    repeats = c.dims("blocks", default=(4, 4, 14, 4), minimum=0, maximum=MAX_COUNT, count=count)
    words = c.strings("level_config", default=("CT", "CTA", "CTA", "CTA"), count=count)
    if set("".join(words)) - set("CTA"):
        raise c.error("level_config", words, "words of C, T and A")
    make_level = partial(level, c, embedded=c.dim("c_r", default=64))

    def rung(i: int, width: Dim, up: bool) -> Module:
        """Some are given what EfficientNet makes of the image."""
        skip = condition if injected[i] else 0
        wider = up and i < count - 1
        names = [_BLOCKS[x] for x in words[i]]
        deep = int(repeats[i])
        blocks = make_level(names, deep, width, condition, heads=heads[i], skip=skip, wider=wider)
        change = [resized(widths[i - 1], width, up=up)] if i else []
        return ModuleList([*blocks, *change] if up else [*change, *blocks])

    down, up = ([rung(i, width, up) for i, width in enumerate(widths)] for up in (False, True))
    root = Module(
        "WuerstchenDiffNeXt",
        clip_mapper=Linear(clip_width, condition, component=Component.PROJECTOR),
        effnet_mappers=Module("ModuleList", dict.fromkeys(mapped, effnet)),
        seq_norm=LayerNorm(condition, eps=1e-6, weight=False),
        embedding=end["embedding"],
        down_blocks=Layers(down),
        up_blocks=Layers(up[::-1]),
        clf=end["clf"],
        part="vision",
    )
    for old, new in _NAMES.items():
        renamed(root, old, new)
    return root


register((), {"WuerstchenDiffNeXt": model}, category="diffusion", source="diffusers")
