"""FastViT, MobileCLIP2's largest but one, as FastVLM takes it: with branches merged.

Source of shapes: timm/models/fastvit.py, ``fastvit_mci3`` in inference mode; no classifier.
"""

from ..core.components import Component
from ..trees import modules as nn
from .blocks import fused_attention

#: Blocks and width of each stage; the last two have attention.
STAGES = ((2, 96), (12, 192), (24, 384), (4, 768), (2, 1536))
NAME = "fastvit_mci3"


def _merged(
    inputs: int,
    out: int,
    kernel: int,
    *,
    groups: int = 1,
    name: str = "MobileOneBlock",
    squeezed: nn.Module | None = None,
    kind: str | None = None,
) -> nn.Module:
    """One convolution in place of branches."""
    conv = nn.Conv(inputs, out, kernel, groups=groups, kind=kind)
    parts = {"se": squeezed or nn.Activation("Identity"), "reparam_conv": conv}
    return nn.Module(name, parts, act=nn.Activation("GELUTanh"), component=Component.CONV)


def _block(width: int, *, attends: bool) -> nn.Module:
    inner = 4 * width
    conv = nn.Conv(width, width, 7, groups=width, bias=False)
    norm = nn.BatchNorm(width, class_name="BatchNormAct2d")
    mlp = nn.Module(
        "ConvMlp",
        conv=nn.Module("ConvNormAct", conv=conv, bn=norm),
        fc1=nn.Conv(width, inner, 1, component=None, kind="up"),
        act=nn.Activation("GELU"),
        fc2=nn.Conv(inner, width, 1, component=None, kind="down"),
        component=Component.MLP,
    )
    scale = nn.Module("LayerScale2d", gamma=nn.Weight(width, 1, 1, kind="scale"))
    if not attends:
        mixer = nn.Module("RepMixer", reparam_conv=nn.Conv(width, width, 3, groups=width))
        return nn.Module("RepMixerBlock", token_mixer=mixer, mlp=mlp, layer_scale=scale)
    return nn.Module(
        "AttentionBlock",
        norm=nn.LayerNorm(width, class_name="LayerNorm2d"),
        token_mixer=fused_attention("Attention", width, bias=False),
        layer_scale_1=scale,
        mlp=mlp,
        layer_scale_2=scale,
    )


def _stage(i: int) -> nn.Module:
    (depth, width) = STAGES[i]
    before = STAGES[i - 1][1]
    large = _merged(before, width, 7, groups=before, name="ReparamLargeKernelConv")
    halved = nn.Module("PatchEmbed", proj=nn.Sequential(large, _merged(width, width, 1)))
    around = nn.Conv(width, width, 7, groups=width)
    placed = nn.Module("RepConditionalPosEnc", reparam_conv=around)
    none = nn.Activation("Identity")
    blocks = [_block(width, attends=i >= 3)] * depth
    return nn.Module(
        "FastVitStage",
        downsample=halved if i else none,
        pos_emb=placed if i >= 3 else none,
        blocks=nn.ModuleList(blocks, class_name="Sequential"),
    )


def merged_model() -> nn.Module:
    """The network without a classifier; 3,072 numbers a position come out."""
    first = STAGES[0][1]
    last = STAGES[-1][1]
    out = 2 * last
    squeezed_width = 2 * last // 16
    squeezed = nn.Module(
        "SEModule",
        fc1=nn.Conv(out, squeezed_width, 1, component=None),
        fc2=nn.Conv(squeezed_width, out, 1, component=None),
        component=Component.MLP,
    )
    wide = _merged(3, first, 3, kind="patch")
    each = _merged(first, first, 3, groups=first)
    return nn.Module(
        "FastVit",
        stem=nn.Sequential(wide, each, _merged(first, first, 1)),
        stages=nn.Layers([_stage(i) for i in range(len(STAGES))], class_name="Sequential"),
        final_conv=_merged(last, out, 3, groups=last, squeezed=squeezed),
        head=nn.Activation("ClassifierHead"),
    )
