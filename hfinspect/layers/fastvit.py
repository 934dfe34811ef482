"""FastViT, MobileCLIP2's largest but one, as FastVLM takes it: with branches merged.

Source of shapes: timm/models/fastvit.py, ``fastvit_mci3`` in inference mode; no classifier.
"""

from ..core.components import Component
from ..trees.modules import (
    Activation,
    BatchNorm,
    Conv,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Sequential,
    Weight,
)

#: Blocks and width of each stage; the last two have attention.
STAGES = ((2, 96), (12, 192), (24, 384), (4, 768), (2, 1536))
NAME = "fastvit_mci3"


def _merged(
    inputs: int, out: int, kernel: int, *, groups: int = 1,
    name: str = "MobileOneBlock", squeezed: Module | None = None, kind: str | None = None,
) -> Module:  # fmt: skip
    """One convolution in place of branches."""
    conv = Conv(inputs, out, kernel, groups=groups, kind=kind)
    return Module(
        name,
        se=squeezed or Activation("Identity"),
        reparam_conv=conv,
        act=Activation("GELUTanh"),
        component=Component.CONV,
    )


def _mlp(width: int) -> Module:
    inner = 4 * width
    conv = Conv(width, width, 7, groups=width, bias=False)
    return Module(
        "ConvMlp",
        conv=Module("ConvNormAct", conv=conv, bn=BatchNorm(width, class_name="BatchNormAct2d")),
        fc1=Conv(width, inner, 1, component=None, kind="up"),
        act=Activation("GELU"),
        fc2=Conv(inner, width, 1, component=None, kind="down"),
        component=Component.MLP,
    )


def _scale(width: int) -> Module:
    return Module("LayerScale2d", gamma=Weight(width, 1, 1, kind="scale"))


def _mixing(width: int) -> Module:
    conv = Conv(width, width, 3, groups=width)
    return Module(
        "RepMixerBlock",
        token_mixer=Module("RepMixer", reparam_conv=conv),
        mlp=_mlp(width),
        layer_scale=_scale(width),
    )


def _attending(width: int) -> Module:
    return Module(
        "AttentionBlock",
        norm=LayerNorm(width, class_name="LayerNorm2d"),
        token_mixer=Module(
            "Attention",
            qkv=Linear(width, 3 * width, bias=False, kind="qkv"),
            proj=Linear(width, width, kind="output"),
            component=Component.ATTENTION,
        ),
        layer_scale_1=_scale(width),
        mlp=_mlp(width),
        layer_scale_2=_scale(width),
    )


def _stage(i: int) -> Module:
    depth, width = STAGES[i]
    before = STAGES[i - 1][1]
    attends = i >= 3
    halved = Sequential(
        _merged(before, width, 7, groups=before, name="ReparamLargeKernelConv"),
        _merged(width, width, 1),
    )
    around = Conv(width, width, 7, groups=width)
    return Module(
        "FastVitStage",
        downsample=Module("PatchEmbed", proj=halved) if i else Activation("Identity"),
        pos_emb=Module("RepConditionalPosEnc", reparam_conv=around)
        if attends
        else Activation("Identity"),
        blocks=ModuleList(
            [_attending(width) if attends else _mixing(width)] * depth, class_name="Sequential"
        ),
    )


def merged_model() -> Module:
    """The network without a classifier; 3,072 numbers a position come out."""
    first, last = STAGES[0][1], STAGES[-1][1]
    out = 2 * last
    squeezed = Module(
        "SEModule",
        fc1=Conv(out, out // 16, 1, component=None),
        fc2=Conv(out // 16, out, 1, component=None),
        component=Component.MLP,
    )
    return Module(
        "FastVit",
        stem=Sequential(
            _merged(3, first, 3, kind="patch"),
            _merged(first, first, 3, groups=first),
            _merged(first, first, 1),
        ),
        stages=Layers([_stage(i) for i in range(len(STAGES))], class_name="Sequential"),
        final_conv=_merged(last, out, 3, groups=last, squeezed=squeezed),
        head=Activation("ClassifierHead"),
    )
