"""WuerstchenDiffNeXt: the decoder of Würstchen (Pernias et al. 2023).

Source of shapes: diffusers/pipelines/deprecated/wuerstchen/modeling_wuerstchen_diffnext.py.
Levels of ConvNeXt-like blocks (C), time blocks (T) and cross-attention (A), in the order of a word.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import renamed
from ..layers.vision import bounded
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Conv,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Sequential,
)
from .stable_cascade_unet import attention_block, res_block, resized


def _norm(width: int) -> Module:
    return LayerNorm(width, eps=1e-6, weight=False, class_name="WuerstchenLayerNorm")


def _conv_block(width: Dim, skip: int, kernel: Dim) -> Module:
    """Stable Cascade's, under another name."""
    block = renamed(res_block(width, skip, int(kernel)), "SDCascade", "Wuerstchen")
    block.class_name = "ResBlockStageB"
    return block


def _attention_block(width: Dim, condition: Dim, heads: Dim) -> Module:
    """The same."""
    block = renamed(attention_block(width, heads, condition), "SDCascade", "Wuerstchen")
    block.class_name = "AttnBlock"
    return block


class _Levels:
    """The lists of the config, one entry for each level."""

    def __init__(self, c: ModelConfig) -> None:
        self.config = c
        self.condition = c.dim("c_cond", default=1024)
        self.widths = c.dims("c_hidden", default=(320, 640, 1280, 1280))
        self.heads = c.dims("nhead", default=(-1, 10, 20, 20), minimum=-1)
        blocks = c.dims("blocks", default=(4, 4, 14, 4), minimum=0)
        self.blocks = bounded(c, "blocks", blocks)
        self.words = c.strings("level_config", default=("CT", "CTA", "CTA", "CTA"))
        self.given = c.flags("inject_effnet", default=(False, True, True, True))
        count = len(self.widths)
        for key, found in (("nhead", self.heads), ("blocks", blocks), ("level_config", self.words),
                           ("inject_effnet", self.given)):  # fmt: skip
            if not count or len(found) != count:
                raise c.error(key, len(found), "as many entries as c_hidden")
        for i, word in enumerate(self.words):
            if set(word) - set("CTA"):
                raise c.error("level_config", word, "words of C, T and A")
            if "A" in word and self.heads[i] < 1:
                raise c.error("nhead", int(self.heads[i]), "at least 1 where a level has attention")

    def row(self, i: int, *, up: bool) -> list[Module]:
        c, width = self.config, self.widths[i]
        kernel, time = c.dim("kernel_size", default=3), c.dim("c_r", default=64)
        skip = self.condition if self.given[i] else 0
        word = self.words[i]
        timed = {"mapper": Linear(time, 2 * width)}
        made = {
            "C": _conv_block(width, skip, kernel),
            "T": Module("TimestepBlock", timed, component=Component.PROJECTOR),
        }
        if "A" in word:
            made["A"] = _attention_block(width, self.condition, self.heads[i])
        found = [made[letter] for _ in range(self.blocks[i]) for letter in word]
        if up and found and word[0] == "C" and i < len(self.widths) - 1:
            found[0] = _conv_block(width, width + skip, kernel)
        return found

    def resized(self, i: int, *, up: bool) -> list[Module]:
        if not i:
            return []
        step = resized(self.widths[i - 1], self.widths[i], up=up)
        return [renamed(step, "SDCascade", "Wuerstchen")]


def model(c: ModelConfig) -> Module:
    levels = _Levels(c)
    first, order = levels.widths[0], range(len(levels.widths))
    area = c.dim("patch_size", default=2) ** 2
    inputs, outputs = c.dim("c_in", default=4) * area, 2 * c.dim("c_out", default=4) * area
    clip = Linear(c.dim("clip_embd", default=1024), levels.condition, component=Component.PROJECTOR)
    effnet = Conv(c.dim("effnet_embd", default=16), levels.condition, 1)
    mapped = enumerate((*levels.given, *levels.given[::-1]))
    stay = Activation("PixelUnshuffle")
    head = Conv(first, outputs, 1, component=Component.HEAD)
    return Module(
        "WuerstchenDiffNeXt",
        clip_mapper=clip,
        effnet_mappers=Module("ModuleList", {str(i): effnet for i, given in mapped if given}),
        seq_norm=LayerNorm(levels.condition, eps=1e-6, weight=False),
        embedding=Sequential(
            stay, Conv(inputs, first, 1, component=Component.EMBEDDING), _norm(first), kind="patch"
        ),
        down_blocks=Layers(
            ModuleList([*levels.resized(i, up=False), *levels.row(i, up=False)]) for i in order
        ),
        up_blocks=Layers(
            ModuleList([*levels.row(i, up=True), *levels.resized(i, up=True)]) for i in order[::-1]
        ),
        clf=Sequential(_norm(first), head, Activation("PixelShuffle"), component=Component.HEAD),
        part="vision",
    )


register((), {"WuerstchenDiffNeXt": model}, category="diffusion", source="diffusers")
