"""PP-OCRv5 and v6 (PaddleOCR 2025): finders add the maps of a backbone of convolutions and draw
where text is; readers have two layers of attention over a line (the tiny one: two convolutions) and
score every character. Source: transformers/models/pp_ocrv5_mobile_det and its siblings."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..core.records import dataclass
from ..layers.backbones import backbone
from ..layers.blocks import fused_attention, size, two_layer_mlp
from ..layers.convolutions import conv_layer, divisible, rectifier, separable
from ..layers.deformable import heads
from ..layers.reassembling import as_head
from ..layers.vision import pair, scaled
from ..trees import Component, Dim, ModelConfig, auto_class, register
from ..trees import modules as nn
from .hgnet_v2 import per_stage
from .pp_lcnet import LAST_FOUR, TYPES, stages

_LCNET = {"model_type": "pp_lcnet_v3", "scale": 0.75, **LAST_FOUR}
_HGNET = {"model_type": "hgnet_v2", "out_features": ["stage1", "stage2", "stage3", "stage4"]}
_READING = {**_HGNET, "stage_downsample": [True] * 4}
_LINES = "vertical_long_to_small_conv", "horizontal_small_to_long_conv", "symmetric_conv_long"
_CROSSED = [f"{line}_{ratio}ratio" for line in _LINES for ratio in ("long", "mid", "short")]


@dataclass(frozen=True)
class Ocr:
    """What the siblings differ in: names, the section that stands for none, and the parts."""

    name: str
    section: dict[str, Any]
    head: "Callable[[Ocr, ModelConfig], nn.Module]"
    task: str = "TextRecognition"
    neck: "Callable[[Ocr, ModelConfig], dict[str, nn.Module]] | None" = None
    width: int = 96
    characters: int = 18385
    kernel: tuple[int, int] = (1, 3)


def section(o: Ocr, c: ModelConfig) -> ModelConfig:
    backbone = c.section("backbone_config", default=o.section)
    return backbone.read_as(str(backbone.raw("model_type") or o.section["model_type"]))


def _stage_widths(backbone: ModelConfig) -> tuple[Dim, ...]:
    if backbone.kind == "hgnet_v2":
        return per_stage(backbone)["stage_out_channels"]
    return tuple(blocks[-1][2] for blocks in stages(backbone, TYPES[str(backbone.kind)]))


def small_neck(o: Ocr, c: ModelConfig, *, mobile: bool = False) -> dict[str, nn.Module]:
    """Every map at one width, then at a quarter of it; ``mobile``: widths of their own first."""
    d = c.dim("neck_out_channels", default=o.width)
    widths = backbone(section(o, c), default_type="pp_lcnet_v3")[1] if mobile else ()
    sizes = c.dims("layer_list_out_channels", default=(12, 18, 42, 360), least=len(widths))

    def weighed(width: Dim) -> nn.Module:
        less = width // c.dim("reduction", default=4)
        parts = {"avg_pool": nn.Activation("AdaptiveAvgPool2d"), "conv1": nn.Conv(width, less, 1)}
        parts |= {"conv2": nn.Conv(less, width, 1), "act_fn": nn.Activation("ReLU")}
        return nn.Module(f"{o.name}SqueezeExcitationModule", parts)

    def residual(inputs: Dim, outputs: Dim, kernel: int) -> nn.Module:
        conv = nn.Conv(inputs, outputs, kernel, bias=False)
        name = f"{o.name}ResidualSqueezeExcitationLayer"
        return nn.Module(name, in_conv=conv, squeeze_excitation_block=weighed(outputs))

    first = [residual(size, d, 1) for size in sizes]
    last = residual(d, d // 4, 3)
    if not mobile:
        each = nn.Conv(d, d, c.dim("dilated_kernel_size", default=7), groups=d)
        last = separable(o.name, each, weighed(d // 4), nn.Conv(d, d // 4, 1, bias=False))
    lists = {"insert_conv": nn.ModuleList(first), "input_conv": nn.ModuleList([last] * len(sizes))}
    neck = {"neck": nn.Module(f"{o.name}Neck", lists, component=Component.CONV)}
    widened = nn.ModuleList(nn.Conv(*both, 1) for both in zip(widths, sizes, strict=False))
    return {"layer": widened, **neck} if mobile else neck


def large_neck(o: Ocr, c: ModelConfig) -> dict[str, nn.Module]:
    """Every stage at one width, a quarter of it down and up again, in windows of nine; then narrow
    convolutions of long, wide and square windows, of which the config lists what each is called
    with, the window first."""
    d = c.dim("neck_out_channels", default=o.width)
    bias = "V6" in o.name
    backbone = section(o, c).of_type("hgnet_v2", "pp_lcnet_v4")
    widths = _stage_widths(backbone)
    if backbone.kind == "pp_lcnet_v4":  # computed by the config class, unless config.json has them
        widths = backbone.dims("stage_out_channels", default=widths)
    quarter = d // 4
    blocks = c.section("intraclass_block_config")
    count = c.count("intraclass_block_number", default=4)
    wide, side = (nn.Conv(inputs, quarter, 9, bias=bias) for inputs in (d, quarter))
    smaller = nn.Conv(quarter, quarter, 3, stride=2, bias=False)

    def conv(name: str, inputs: Dim, outputs: Dim) -> nn.Module:
        conv = blocks.raw(name)
        if not isinstance(conv, list) or not 3 <= len(conv) <= 4 or conv[0] in ([], [1]):
            raise blocks.error(name, conv, "kernel, stride, padding and no more than the dilation")
        sizes = ModelConfig({"kernel": conv[0]}, f"{blocks.path}{name}.")
        return nn.Conv(inputs, outputs, pair(sizes, "kernel", default=1))

    def block() -> nn.Module:
        reduced = quarter // c.dim("reduce_factor", default=2)
        parts = {"conv_reduce_channel": conv("reduce_channel", quarter, reduced)}
        parts |= {name: conv(name, reduced, reduced) for name in _CROSSED}
        back = _normed(o, conv("return_channel", reduced, quarter), quarter)
        return nn.Module(f"{o.name}IntraclassBlock", parts, conv_final=back)

    parts = {
        "input_channel_adjustment_convolution": [nn.Conv(w, d, 1, bias=False) for w in widths],
        "input_feature_projection_convolution": [wide] * len(widths),
        "path_aggregation_head_convolution": [smaller] * (len(widths) - 1),
        "path_aggregation_lateral_convolution": [side] * len(widths),
        "intraclass_blocks": [block()] * int(count) if count else [],
    }
    lists = {name: nn.ModuleList(members) for name, members in parts.items()}
    return {"neck": nn.Module(f"{o.name}Neck", lists, component=Component.CONV)}


def _normed(o: Ocr, conv: nn.Module, width: Dim, act: str | None = "relu") -> nn.Module:
    parts = {"convolution": conv, "norm": nn.BatchNorm(width), "act_fn": rectifier(act)}
    return nn.Module(f"{o.name}ConvBatchnormLayer", parts)


def map_head(o: Ocr, c: ModelConfig) -> nn.Module:
    """Four times as large as the maps, one channel."""
    kernels = c.dims("kernel_list", default=(3, 2, 2), least=3)
    d = c.dim("neck_out_channels", default=o.width)
    quarter = d // 4
    larger = partial(nn.Conv, stride=2, transposed=True)
    down = nn.Conv(d, quarter, kernels[0], bias=False)
    up = larger(quarter, quarter, kernels[1])
    parts = {"conv_down": _normed(o, down, quarter), "conv_up": _normed(o, up, quarter)}
    return nn.Module(f"{o.name}Head", parts, conv_final=larger(quarter, 1, kernels[2]))


def refined_head(o: Ocr, c: ModelConfig) -> nn.Module:
    """The same, and once more with the maps next to what came out."""
    quarter = c.dim("neck_out_channels", default=o.width) // 4
    wide = nn.Conv(quarter + 1, quarter, 3, bias=False)
    act = c.text("hidden_act", default="relu")
    again = {"convolution_backbone": _normed(o, wide, quarter, act)}
    refined = nn.Module(f"{o.name}LocalModule", again, convolution_final=nn.Conv(quarter, 1, 1))
    first = map_head(o, c).called(f"{o.name}SegmentationHead")
    parts = {"binarize_head": first, "upsample_convolution": nn.Activation("Upsample")}
    return nn.Module(f"{o.name}Head", parts, local_refinement_module=refined)


_width = size("hidden_size", default=120)


def _last_width(o: Ocr, c: ModelConfig) -> Dim:
    backbone = section(o, c).of_type(str(o.section["model_type"]))
    last = _stage_widths(backbone)[-1]
    return divisible(backbone, last) if backbone.kind == "pp_lcnet_v3" else last


def encoder(o: Ocr, c: ModelConfig) -> nn.Module:
    d = _width(c)
    inputs = _last_width(o, c)
    act = c.text("hidden_act", default="silu")
    kernel = c.dims("conv_kernel_size", default=o.kernel, count=2)
    norm = nn.LayerNorm(d, eps=c.number("layer_norm_eps", default=1e-6))
    sixth = "V6" in o.name
    reduced = inputs // 8
    to = partial(conv_layer, o.name, act=act if sixth else "silu")
    if sixth:
        point = to(inputs, d, 1)
        convolutions = [point, point, to(d, d, kernel, groups=d)]
    else:
        point = to(reduced, d, 1)
        back = [to(d, inputs, 1), to(2 * inputs, reduced, kernel)]
        convolutions = [to(inputs, reduced, kernel), point, *back, point]
    inner = scaled(c, d, "mlp_ratio", default=2.0)
    bias = c.flag("qkv_bias", default=True)
    heads(c, "num_attention_heads", d, "hidden_size")
    mlp = two_layer_mlp(f"{o.name}MLP", d, inner, act=act, act_name="activation")
    look = fused_attention(f"{o.name}Attention", d, bias=bias, out="projection")
    inside = {"self_attn": look, "layer_norm1": norm, "mlp": mlp.adding(drop=nn.Dropout(0.0))}
    layer = nn.Module(f"{o.name}Block", inside, layer_norm2=norm)
    blocks = nn.Layers.of(c.count("depth", default=2), layer)
    parts = {"conv_block": nn.ModuleList(convolutions), "svtr_block": blocks}
    return nn.Module(f"{o.name}EncoderWithSVTR", parts, norm=norm, part="vision")


def _characters(o: Ocr, c: ModelConfig) -> nn.Module:
    return nn.Linear(_width(c), c.dim("head_out_channels", default=o.characters), kind="lm_head")


def line_head(o: Ocr, c: ModelConfig) -> nn.Module:
    return nn.Module(f"{o.name}Head", encoder=encoder(o, c), head=_characters(o, c))


def tiny_head(o: Ocr, c: ModelConfig) -> nn.Module:
    width = _last_width(o, c)
    norm = nn.BatchNorm(_last_width(o, c), dims=1)
    to = partial(nn.Conv, width, width, dims=1, bias=False)
    convs = {"conv1": to(5, groups=width), "norm1": norm, "conv2": to(1), "norm2": norm}
    scores = {"fc1": nn.Linear(width, _width(c)), "fc2": _characters(o, c)}
    return nn.Module(f"{o.name}Head", {**convs, "act_fn": nn.Activation("Hardswish"), **scores})


def model(o: Ocr, c: ModelConfig) -> nn.Module:
    kind = o.section["model_type"]
    more = o.neck(o, c) if o.neck else {}
    network = auto_class(section(o, c), "Backbone", default_type=kind, part="vision")
    return nn.Module(f"{o.name}Model", {"backbone": network, **more}, part="vision")


def with_head(o: Ocr, c: ModelConfig) -> nn.Module:
    head = as_head(o.head(o, c))
    head.component = Component.HEAD
    return nn.Module(f"{o.name}For{o.task}", model=model(o, c), head=head, part="vision")


_V4 = {"model_type": "pp_lcnet_v4"}
mobile_neck = partial(small_neck, mobile=True)
_DET = "ObjectDetection"
for model_type, ocr in {
    "pp_ocrv5_mobile_det": Ocr("PPOCRV5MobileDet", _LCNET, map_head, _DET, mobile_neck),
    "pp_ocrv6_small_det": Ocr("PPOCRV6SmallDet", _V4, map_head, _DET, small_neck),
    "pp_ocrv5_server_det": Ocr("PPOCRV5ServerDet", _HGNET, refined_head, _DET, large_neck, 256),
    "pp_ocrv6_medium_det": Ocr("PPOCRV6MediumDet", _V4, map_head, _DET, large_neck, 256),
    "pp_ocrv5_mobile_rec": Ocr("PPOCRV5MobileRec", _LCNET, line_head),
    "pp_ocrv5_server_rec": Ocr("PPOCRV5ServerRec", _READING, line_head),
    "pp_ocrv6_small_rec": Ocr("PPOCRV6SmallRec", _V4, line_head, characters=18714, kernel=(1, 7)),
    "pp_ocrv6_tiny_rec": Ocr("PPOCRV6TinyRec", _V4, tiny_head, characters=6625),
}.items():
    forms = {f"For{ocr.task}": with_head, "Model": model}
    forms |= {"EncoderWithSVTR": encoder} if ocr.head is line_head else {}
    classes = {f"{ocr.name}{ending}": partial(build, ocr) for ending, build in forms.items()}
    register(model_type, classes, base=f"{ocr.name}Model", base_prefix="model", category="vision")
