"""Gemma 3n's vision tower: the encoder of MobileNetV5, 300M.

Source of shapes: timm/models/mobilenetv5.py (``mobilenetv5_300m_enc``), which transformers wraps.
Of the config only the name of the architecture counts. Stages of inverted residuals and of
multi-query attention over pixels; the last two stages are fused at the end.
"""

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..trees.catalog import register
from ..trees.modules import Conv, Layers, Module, RMSNorm, Sequential, Weight

#: The one architecture that published models name.
_ARCHITECTURE = "mobilenetv5_300m_enc"
_FUSED = 2048


def _convolution(inputs: int, outputs: int, kernel: int, *, depthwise: bool = False) -> Module:
    groups = inputs if depthwise else 1
    conv = Conv(exact(inputs), exact(outputs), kernel, groups=groups, bias=False, component=None)
    return Module("ConvNormAct", conv=conv, bn=_norm(outputs))


def _pointwise(inputs: int, outputs: int) -> Module:
    return Conv(exact(inputs), exact(outputs), 1, bias=False, component=None)


def _norm(width: int, class_name: str = "RmsNormAct2d") -> Module:
    return RMSNorm(exact(width), class_name=class_name)


def _scale(width: int) -> Module:
    return Module(
        "LayerScale2d", gamma=Weight(exact(width), kind="scale"), component=Component.OTHER
    )


def fused_residual(inputs: int, outputs: int) -> Module:
    """A full 3x3 convolution to four times the width, and back to the output's."""
    wide = 4 * inputs
    return Module(
        "EdgeResidual",
        conv_exp=Conv(exact(inputs), exact(wide), 3, bias=False, component=None),
        bn1=_norm(wide),
        conv_pwl=_pointwise(wide, outputs),
        bn2=_norm(outputs),
        component=Component.CONV,
    )


def inverted_residual(
    inputs: int, outputs: int, wide: int, start: int = 0, middle: int = 0, *, scaled: bool = True
) -> Module:
    """Widen, and narrow; depthwise convolutions of size ``start`` before and ``middle`` between."""
    return Module(
        "UniversalInvertedResidual",
        dw_start=_convolution(inputs, inputs, start, depthwise=True) if start else None,
        pw_exp=_convolution(inputs, wide, 1),
        dw_mid=_convolution(wide, wide, middle, depthwise=True) if middle else None,
        pw_proj=_convolution(wide, outputs, 1),
        layer_scale=_scale(outputs) if scaled else None,
        component=Component.CONV,
    )


def attention(width: int, heads: int, head: int, *, strided: bool) -> Module:
    """Multi-query: one head of keys and values, of a coarser grid where ``strided``."""

    def reduced(kind: str) -> Module:
        coarser: dict[str, Module] = {}
        if strided:
            grid = Conv(exact(width), exact(width), 3, groups=width, bias=False)
            coarser = {"down_conv": grid, "norm": _norm(width, "RmsNorm2d")}
        return Module("Sequential", {**coarser, "proj": _pointwise(width, head)}, kind=kind)

    return Module(
        "MobileAttention",
        norm=_norm(width),
        attn=Module(
            "MultiQueryAttention2d",
            query=Module("Sequential", proj=_pointwise(width, heads * head), kind="query"),
            key=reduced("key"),
            value=reduced("value"),
            output=Module("Sequential", proj=_pointwise(heads * head, width), kind="output"),
        ),
        layer_scale=_scale(width),
        component=Component.ATTENTION,
    )


def stages() -> list[list[Module]]:
    """Widths 128, 256, 640 and 1280."""
    repeated = inverted_residual(640, 640, 2560, 5)
    coarse = [attention(640, 12, 64, strided=True), inverted_residual(640, 640, 1280)]
    full = [attention(1280, 16, 96, strided=False), inverted_residual(1280, 1280, 2560)]
    small, large = inverted_residual(256, 256, 1024, 3), inverted_residual(256, 256, 1024, 5)
    return [
        [fused_residual(64, 128), *[fused_residual(128, 128)] * 2],
        [inverted_residual(128, 256, 768, 3, 5), large, small, large, small],
        [
            inverted_residual(256, 640, 1536, 5, 5),
            *[repeated] * 7,
            inverted_residual(640, 640, 640),
            *coarse * 14,
        ],
        [inverted_residual(640, 1280, 3840, 5, 5), *full * 19],
    ]


def vision_model(c: ModelConfig) -> Module:
    found = c.text("architecture", default=_ARCHITECTURE)
    if found != _ARCHITECTURE:
        raise c.error("architecture", found, _ARCHITECTURE)
    stem = Conv(exact(3), exact(64), 3, stride=2)
    fusion = inverted_residual(640 + 1280, _FUSED, 2 * (640 + 1280), scaled=False)
    encoder = Module(
        "MobileNetV5Encoder",
        conv_stem=Module("ConvNormAct", conv=stem, bn=_norm(64)),
        blocks=Layers((Sequential(*stage) for stage in stages()), class_name="Sequential"),
        msfa=Module(
            "MobileNetV5MultiScaleFusionAdapter",
            ffn=fusion,
            norm=_norm(_FUSED, "RmsNorm2d"),
        ),
    )
    return Module("TimmWrapperModel", timm_model=encoder, part="vision")


register(
    "gemma3n_vision",
    {"TimmWrapperModel": vision_model},
    category="vision",
    source="timm",
    base=None,
)
