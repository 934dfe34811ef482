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
from ..layers.convolutions import conv_layer, separable
from ..layers.heads import to_words
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


def _seen(c: ModelConfig, default: int, least: int = 1) -> Dim:
    return c.dim("post_conv_out_channels", default=default, minimum=least)


def _act(c: ModelConfig) -> str:
    return c.text("hidden_act", default="hardswish") or "hardswish"


def _separable(c: ModelConfig, d: Dim) -> Module:
    kernel, to = c.dim("csp_kernel_size", default=5), partial(conv_layer, _NAME, d, d, act=_act(c))
    return separable(_NAME, to(kernel, groups=d), Activation("Identity"), to(1))


def mixing(c: ModelConfig, d: Dim) -> Module:
    """Two maps next to each other to one, in two halves."""
    half, point = d // 2, partial(conv_layer, _NAME, kernel=1, act=_act(c))
    bottleneck = Module(f"{_NAME}Bottleneck", conv1=point(half, half), conv2=_separable(c, half))
    bottlenecks = ModuleList([bottleneck] * int(c.count("csp_num_blocks", default=1)))
    widths = {"conv1": (2 * d, half), "conv2": (2 * d, half), "conv3": (2 * half, d)}
    convs = {name: point(*both) for name, both in widths.items()}
    return Module(f"{_NAME}CSPLayer", convs, bottlenecks=bottlenecks)


def pixels(c: ModelConfig) -> Module:
    """The backbone and the path down and up through its maps, the first two left out."""
    section = backbone_section(c, BACKBONE).of_type(*LCNETS)
    network = auto_class(section, "Backbone", default_type="pp_lcnet", part="vision")
    sizes = features(section.read_as(section.model_type or "pp_lcnet"), Dim(0))[2:]
    d, steps = _seen(c, 96, 2), len(sizes) - 1  # halves
    to = partial(conv_layer, _NAME, kernel=1, act=_act(c), component=Component.PROJECTOR)
    parts = {
        "channel_projector": ModuleList(to(size, d) for size in sizes),
        "upsample": Activation("Upsample"),
        "top_down_blocks": ModuleList([mixing(c, d)] * steps),
        "downsamples": ModuleList([_separable(c, d)] * steps),
        "bottom_up_blocks": ModuleList([mixing(c, d)] * steps),
    }
    mixed = Module(f"{_NAME}CSPPAN", parts, component=Component.CONV)
    return Module(f"{_NAME}Backbone", vision_backbone=network, post_csp_pan=mixed, part="vision")


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


def tags(name: str, seen: int, hidden: int, c: ModelConfig) -> Module:
    """A cell of three gates, each of weights (H, inputs) and (H, H) and two biases, fed with what
    it looks at and with the last tag, and the scores of the next."""
    inputs, h = _seen(c, seen), c.dim("hidden_size", default=hidden)
    count = c.dim("out_channels", default=50)
    sizes = {"weight_ih": (inputs + count,), "weight_hh": (h,), "bias_ih": (), "bias_hh": ()}
    gates = {name: Weight(3 * h, *size) for name, size in sizes.items()}
    looking = {
        "input_to_hidden": Linear(inputs, h, bias=False, kind="key"),
        "hidden_to_hidden": Linear(h, h, kind="query"),
        "score": Linear(h, 1, bias=False),
        "rnn": Module("GRUCell", gates, component=Component.OTHER),
    }
    scores = {"fc1": Linear(h, h, component=Component.HEAD), "fc2": to_words(h, count, bias=True)}
    cell = Module(f"{name}AttentionGRUCell", looking, component=Component.ATTENTION)
    written = Module(f"{name}MLP", scores, act_fn=Activation("Identity"))
    parts = {"structure_attention_cell": cell, "structure_generator": written}
    return Module(f"{name}SLAHead", parts, part="text")


for name, picture, sizes in (("SLANet", pixels, (96, 256)), ("SLANeXt", tower, (512, 512))):
    head = partial(tags, name, *sizes)
    forms: dict[str, Builder | dict[str, Part]] = {
        f"{name}ForTableRecognition": {"backbone": picture, "head": head},
        f"{name}Backbone": picture,
        f"{name}SLAHead": head,
    }
    classes = composed(forms, part="vision")
    register(name.lower(), classes, base=f"{name}Backbone", category="vision")
register_part("slanext_vision", "SLANeXtVisionEncoder", vision_encoder, "vision")
