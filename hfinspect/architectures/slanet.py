"""SLANet and SLANeXt (PaddleOCR 2022; 2025): the structure of a table in a picture. A backbone,
whose maps a path down and up mixes, or SAM's image encoder; then a recurrent cell that looks at the
picture and writes one tag after the other. Source: transformers/models/slanet and slanext."""

from functools import partial

from ..layers.composing import composed_of
from ..layers.convolutions import conv_layer, separable
from ..layers.heads import to_words
from ..trees import Builder, Component, Dim, ModelConfig, auto_class, register, register_part
from ..trees.modules import Activation, Conv, Linear, Module, ModuleList, Weight
from . import sam
from .pp_lcnet import LAST_FOUR, TYPES, act, features

_NAME = "SLANet"


def _seen(c: ModelConfig, default: int, least: int = 1) -> Dim:
    return c.dim("post_conv_out_channels", default=default, minimum=least)


def pixels(c: ModelConfig) -> Module:
    """The backbone and the path down and up through its maps, the first two left out."""
    usual = {"model_type": "pp_lcnet", **LAST_FOUR}
    section = c.section("backbone_config", default=usual).of_type(*TYPES)
    network = auto_class(section, "Backbone", default_type="pp_lcnet", part="vision")
    sizes = features(section.read_as(section.model_type or "pp_lcnet"))[1:]
    d = _seen(c, 96, 2)
    steps = len(sizes) - 1
    to = partial(conv_layer, _NAME, act=act(c))
    half = d // 2
    kernel = c.dim("csp_kernel_size", default=5)

    def separated(width: Dim) -> Module:
        each = to(width, width, kernel, groups=width)
        return separable(_NAME, each, Activation("Identity"), to(width, width, 1))

    # Two maps next to each other to one, in two halves.
    bottleneck = Module(f"{_NAME}Bottleneck", conv1=to(half, half, 1), conv2=separated(half))
    widths = {"conv1": (2 * d, half), "conv2": (2 * d, half), "conv3": (2 * half, d)}
    convs = {name: to(*both, 1) for name, both in widths.items()}
    bottlenecks = ModuleList([bottleneck] * int(c.count("csp_num_blocks", default=1)))
    mixing = ModuleList([Module(f"{_NAME}CSPLayer", convs, bottlenecks=bottlenecks)] * steps)
    projected = (to(size, d, 1, component=Component.PROJECTOR) for size in sizes)
    parts = {"channel_projector": ModuleList(projected), "upsample": Activation("Upsample")}
    parts |= {"top_down_blocks": mixing, "downsamples": ModuleList([separated(d)] * steps)}
    mixed = Module(f"{_NAME}CSPPAN", parts, bottom_up_blocks=mixing, component=Component.CONV)
    return Module(f"{_NAME}Backbone", vision_backbone=network, post_csp_pan=mixed, part="vision")


def tower(c: ModelConfig) -> Module:
    tower = vision_encoder(c.section("vision_config"))
    less = Conv(c.dim("post_conv_in_channels", default=256), _seen(c, 512), 3, bias=False)
    return Module("SLANeXtBackbone", vision_tower=tower, post_conv=less, part="vision")


vision_encoder = partial(sam.encoder_of, "SLANeXt", image_size=512)


def tags(name: str, inputs_default: int, hidden: int, c: ModelConfig) -> Module:
    """A cell of three gates, each of weights (H, inputs) and (H, H) and two biases, fed with what
    it looks at and with the last tag, and the scores of the next."""
    inputs = _seen(c, inputs_default)
    h = c.dim("hidden_size", default=hidden)
    count = c.dim("out_channels", default=50)
    sizes = {"weight_ih": (inputs + count,), "weight_hh": (h,), "bias_ih": (), "bias_hh": ()}
    gates = {name: Weight(3 * h, *size) for name, size in sizes.items()}
    looks = {"input_to_hidden": Linear(inputs, h, bias=False, kind="key")}
    looks |= {"hidden_to_hidden": Linear(h, h, kind="query"), "score": Linear(h, 1, bias=False)}
    gru = Module("GRUCell", gates, component=Component.OTHER)
    cell = Module(f"{name}AttentionGRUCell", looks, rnn=gru, component=Component.ATTENTION)
    scores = {"fc1": Linear(h, h, component=Component.HEAD), "fc2": to_words(h, count, bias=True)}
    written = Module(f"{name}MLP", scores, act_fn=Activation("Identity"))
    parts = {"structure_attention_cell": cell, "structure_generator": written}
    return Module(f"{name}SLAHead", parts, part="text")


for name, picture, sizes in (("SLANet", pixels, (96, 256)), ("SLANeXt", tower, (512, 512))):
    head: Builder = partial(tags, name, *sizes)
    recognition = {f"{name}ForTableRecognition": ("backbone", "head")}
    classes = composed_of({"backbone": picture, "head": head}, recognition, part="vision")
    classes |= {f"{name}Backbone": picture, f"{name}SLAHead": head}
    register(name.lower(), classes, base=f"{name}Backbone", category="vision")
register_part("slanext_vision", "SLANeXtVisionEncoder", vision_encoder, "vision")
