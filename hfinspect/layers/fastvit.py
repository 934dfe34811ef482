"""FastViT, MobileCLIP2's largest but one, as FastVLM takes it: with branches merged.

Source of shapes: timm/models/fastvit.py, ``fastvit_mci3`` in inference mode; no classifier.
"""

from ..core.components import Component
from ..trees import modules as nn

#: Blocks and width of each stage; the last two have attention.
STAGES = ((2, 96), (12, 192), (24, 384), (4, 768), (2, 1536))
NAME = "fastvit_mci3"


def _merged(
    inputs: int, out: int, kernel: int, *, groups: int = 1,
    name: str = "MobileOneBlock", squeezed: nn.Module | None = None, kind: str | None = None,
) -> nn.Module:  # fmt: skip
    """One convolution in place of branches."""
    conv = nn.Conv(inputs, out, kernel, groups=groups, kind=kind)
    return nn.Module(
        name,
        se=squeezed or nn.Activation("Identity"),
        reparam_conv=conv,
        act=nn.Activation("GELUTanh"),
        component=Component.CONV,
    )


def _mlp(width: int) -> nn.Module:
    inner = 4 * width
    conv = nn.Conv(width, width, 7, groups=width, bias=False)
    return nn.Module(
        "ConvMlp",
        conv=nn.Module(
            "ConvNormAct", conv=conv, bn=nn.BatchNorm(width, class_name="BatchNormAct2d")
        ),
        fc1=nn.Conv(width, inner, 1, component=None, kind="up"),
        act=nn.Activation("GELU"),
        fc2=nn.Conv(inner, width, 1, component=None, kind="down"),
        component=Component.MLP,
    )


def _scale(width: int) -> nn.Module:
    return nn.Module("LayerScale2d", gamma=nn.Weight(width, 1, 1, kind="scale"))


def _mixing(width: int) -> nn.Module:
    conv = nn.Conv(width, width, 3, groups=width)
    return nn.Module(
        "RepMixerBlock",
        token_mixer=nn.Module("RepMixer", reparam_conv=conv),
        mlp=_mlp(width),
        layer_scale=_scale(width),
    )


def _attending(width: int) -> nn.Module:
    return nn.Module(
        "AttentionBlock",
        norm=nn.LayerNorm(width, class_name="LayerNorm2d"),
        token_mixer=nn.Module(
            "Attention",
            qkv=nn.Linear(width, 3 * width, bias=False, kind="qkv"),
            proj=nn.Linear(width, width, kind="output"),
            component=Component.ATTENTION,
        ),
        layer_scale_1=_scale(width),
        mlp=_mlp(width),
        layer_scale_2=_scale(width),
    )


def _stage(i: int) -> nn.Module:
    depth, width = STAGES[i]
    before = STAGES[i - 1][1]
    attends = i >= 3
    halved = nn.Sequential(
        _merged(before, width, 7, groups=before, name="ReparamLargeKernelConv"),
        _merged(width, width, 1),
    )
    around = nn.Conv(width, width, 7, groups=width)
    return nn.Module(
        "FastVitStage",
        downsample=nn.Module("PatchEmbed", proj=halved) if i else nn.Activation("Identity"),
        pos_emb=nn.Module("RepConditionalPosEnc", reparam_conv=around)
        if attends
        else nn.Activation("Identity"),
        blocks=nn.ModuleList(
            [_attending(width) if attends else _mixing(width)] * depth, class_name="Sequential"
        ),
    )


def merged_model() -> nn.Module:
    """The network without a classifier; 3,072 numbers a position come out."""
    first, last = STAGES[0][1], STAGES[-1][1]
    out = 2 * last
    squeezed = nn.Module(
        "SEModule",
        fc1=nn.Conv(out, out // 16, 1, component=None),
        fc2=nn.Conv(out // 16, out, 1, component=None),
        component=Component.MLP,
    )
    return nn.Module(
        "FastVit",
        stem=nn.Sequential(
            _merged(3, first, 3, kind="patch"),
            _merged(first, first, 3, groups=first),
            _merged(first, first, 1),
        ),
        stages=nn.Layers([_stage(i) for i in range(len(STAGES))], class_name="Sequential"),
        final_conv=_merged(last, out, 3, groups=last, squeezed=squeezed),
        head=nn.Activation("ClassifierHead"),
    )
