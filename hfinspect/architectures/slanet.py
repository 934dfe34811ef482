"""SLANet and SLANeXt (PaddleOCR 2022; 2025): the structure of a table in a picture.
Source of shapes: transformers/models/slanet and slanext.

A backbone, whose maps a path down and up mixes, or SAM's image encoder; then a recurrent cell that
looks at the picture and writes one tag of the table after the other.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.backbones import backbone_section
from ..layers.composing import Part, composed
from ..layers.convolutions import conv_layer
from ..trees.catalog import Builder, auto_class, register, register_part
from ..trees.modules import Activation, Conv, Linear, Module, ModuleList, Weight
from . import sam
from .pp_lcnet import TYPES as LCNETS
from .pp_lcnet import features

_NAME = "SLANet"
#: What the config class makes of an absent backbone_config.
BACKBONE = {
    "model_type": "pp_lcnet", "divisor": 16,
    "out_features": ["stage2", "stage3", "stage4", "stage5"], "out_indices": [2, 3, 4, 5],
}  # fmt: skip


# ---- the picture


def _seen(c: ModelConfig, default: int) -> Dim:
    return c.dim("post_conv_out_channels", default=default)


def _act(c: ModelConfig) -> str:
    return c.text("hidden_act", default="hardswish") or "hardswish"


def separable(c: ModelConfig, d: Dim) -> Module:
    """A convolution of each channel on its own, then of all channels at a point."""
    kernel, act = c.dim("csp_kernel_size", default=5), _act(c)
    return Module(
        f"{_NAME}DepthwiseSeparableConvLayer",
        depthwise_convolution=conv_layer(_NAME, d, d, kernel, groups=d, act=act),
        squeeze_excitation_module=Activation("Identity"),
        pointwise_convolution=conv_layer(_NAME, d, d, 1, act=act),
    )


def mixing(c: ModelConfig, d: Dim) -> Module:
    """Two maps next to each other to one, in two halves."""
    half, point = d // 2, partial(conv_layer, _NAME, kernel=1, act=_act(c))
    bottleneck = Module(f"{_NAME}Bottleneck", conv1=point(half, half), conv2=separable(c, half))
    return Module(
        f"{_NAME}CSPLayer",
        conv1=point(2 * d, half),
        conv2=point(2 * d, half),
        conv3=point(2 * half, d),
        bottlenecks=ModuleList([bottleneck] * int(c.count("csp_num_blocks", default=1))),
    )


def pixels(c: ModelConfig) -> Module:
    """The backbone and the path down and up through its maps, the first two left out."""
    section = backbone_section(c, BACKBONE).of_type(*LCNETS)
    network = auto_class(section, "Backbone", default_type="pp_lcnet", part="vision")
    sizes = features(section.read_as(section.model_type or "pp_lcnet"), Dim(0))[2:]
    d, steps = _seen(c, 96), len(sizes) - 1
    at = Component.PROJECTOR
    widened = [conv_layer(_NAME, size, d, 1, act=_act(c), component=at) for size in sizes]
    return Module(
        f"{_NAME}Backbone",
        vision_backbone=network,
        post_csp_pan=Module(
            f"{_NAME}CSPPAN",
            channel_projector=ModuleList(widened),
            upsample=Activation("Upsample"),
            top_down_blocks=ModuleList([mixing(c, d)] * steps),
            downsamples=ModuleList([separable(c, d)] * steps),
            bottom_up_blocks=ModuleList([mixing(c, d)] * steps),
            component=Component.CONV,
        ),
        part="vision",
    )


def tower(c: ModelConfig) -> Module:
    """SAM's image encoder, at half the resolution."""
    inputs = c.dim("post_conv_in_channels", default=256)
    return Module(
        "SLANeXtBackbone",
        vision_tower=vision_encoder(c.section("vision_config")),
        post_conv=Conv(inputs, _seen(c, 512), 3, bias=False),
        part="vision",
    )


vision_encoder = partial(sam.encoder_of, "SLANeXt", image_size=512)


# ---- the tags


def gru_cell(inputs: Dim, hidden: Dim) -> Module:
    """Three gates, each of weights (H, inputs) and (H, H) and two biases."""
    sizes = {"weight_ih": (inputs,), "weight_hh": (hidden,), "bias_ih": (), "bias_hh": ()}
    gates = {name: Weight(3 * hidden, *size) for name, size in sizes.items()}
    return Module("GRUCell", gates, component=Component.OTHER)


def tags(name: str, seen: int, hidden: int, c: ModelConfig) -> Module:
    """The cell, fed with what it looks at and with the last tag, and the scores of the next."""
    inputs, h = _seen(c, seen), c.dim("hidden_size", default=hidden)
    count = c.dim("out_channels", default=50)
    return Module(
        f"{name}SLAHead",
        structure_attention_cell=Module(
            f"{name}AttentionGRUCell",
            input_to_hidden=Linear(inputs, h, bias=False, kind="key"),
            hidden_to_hidden=Linear(h, h, kind="query"),
            score=Linear(h, 1, bias=False),
            rnn=gru_cell(inputs + count, h),
            component=Component.ATTENTION,
        ),
        structure_generator=Module(
            f"{name}MLP",
            fc1=Linear(h, h, component=Component.HEAD),
            fc2=Linear(h, count, component=Component.HEAD, kind="lm_head"),
            act_fn=Activation("Identity"),
        ),
        part="text",
    )


for model_type, name, picture, sizes in (
    ("slanet", "SLANet", pixels, (96, 256)),
    ("slanext", "SLANeXt", tower, (512, 512)),
):
    head = partial(tags, name, *sizes)
    parts: dict[str, Part] = {"backbone": picture, "head": head}
    forms: dict[str, Builder | dict[str, Part]] = {
        "ForTableRecognition": parts,
        "Backbone": picture,
        "SLAHead": head,
    }
    classes = composed({f"{name}{ending}": form for ending, form in forms.items()}, part="vision")
    register(model_type, classes, base=f"{name}Backbone", category="vision")
register_part("slanext_vision", "SLANeXtVisionEncoder", vision_encoder, "vision")
