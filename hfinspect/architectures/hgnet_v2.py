"""HGNetV2 (PaddlePaddle 2023), the backbone of D-FINE. Source: transformers/models/hgnet_v2.
Blocks whose convolutions are all put next to each other and squeezed; light blocks convolve each
channel on its own. ``depths`` and ``hidden_sizes`` name stages and say nothing of their sizes."""

from functools import partial
from itertools import pairwise

from ..core.config import MAX_COUNT, MAX_DIM
from ..layers.backbones import hands_on, staged
from ..layers.blocks import activation
from ..layers.convolutions import conv_layer
from ..layers.heads import classifier
from ..trees import Component, Dim, ModelConfig, config_defaults, register
from ..trees.modules import Activation, Layers, Module, ModuleList, Sequential

_NAME = "HGNetV2"
_LEARNED = "use_learnable_affine_block"
_WIDTHS = (256, 512, 1024, 2048)
STAGES = config_defaults("hgnet_v2")


def per_stage(c: ModelConfig) -> dict[str, tuple[Dim, ...]]:
    """The lists of sizes, each as long as the first."""
    stages = len(c.dims("stage_in_channels", default=STAGES["stage_in_channels"]))
    most = {key: MAX_COUNT if "_num" in key else MAX_DIM for key in STAGES}
    return {key: c.dims(key, default=STAGES[key], count=stages, maximum=most[key]) for key in most}


def stem(
    name: str, c: ModelConfig, default: tuple[int, int, int], *, small: bool = False
) -> dict[str, Module]:
    """Two ways through the second convolution, put next to each other; a ``small`` one has two
    convolutions in all."""
    widths = channels, inner, outer = c.dims("stem_channels", default=default, least=3)[:3]
    if small:
        first, last = (conv_layer(name, *both, 3, learned=False) for both in pairwise(widths))
        return {"conv1": first, "act_fn": activation("gelu"), "conv2": last}
    steps = {
        "stem1": (channels, inner, 3),
        "stem2a": (inner, inner // 2, 2),
        "stem2b": (inner // 2, inner, 2),
        "stem3": (inner * 2, inner, 3),
        "stem4": (inner, outer, 1),
    }
    act = c.text("hidden_act", default="relu")
    learned = c.flag(_LEARNED, default=False)
    to = partial(conv_layer, name, act=act, learned=learned)
    return {**{key: to(*sizes) for key, sizes in steps.items()}, "pool": Activation("MaxPool2d")}


def _stage(c: ModelConfig, sizes: tuple[Dim, ...], smaller: bool, light: bool) -> Module:
    inputs, inner, outputs, depth, kernel, count = sizes
    learned = c.flag(_LEARNED, default=False)
    plain = Activation("Identity")
    to = partial(conv_layer, _NAME, act="relu", learned=learned)

    def layer(before: Dim) -> Module:
        if not light:
            return to(before, inner, kernel)
        each = to(inner, inner, kernel, groups=inner)
        return Module(f"{_NAME}ConvLayerLight", conv1=to(before, inner, 1, act=None), conv2=each)

    def block(inputs: Dim) -> Module:
        layers = ModuleList([layer(inputs), *[layer(inner)] * (int(count) - 1)])
        half = to(inputs + int(count) * inner, outputs // 2, 1)
        parts = {"layers": layers, "aggregation": Sequential(half, to(outputs // 2, outputs, 1))}
        return Module(f"{_NAME}BasicLayer", parts, drop_path=plain, component=Component.CONV)

    halved = conv_layer(_NAME, inputs, inputs, 3, groups=inputs, learned=False)
    blocks = ModuleList([block(inputs), *[block(outputs)] * (int(depth) - 1)])
    return Module(f"{_NAME}Stage", downsample=halved if smaller else plain, blocks=blocks)


def _model(c: ModelConfig, name: str = f"{_NAME}Backbone") -> Module:
    lists = list(zip(*per_stage(c).values(), strict=True))
    embedding = stem(_NAME, c, (3, 32, 48))
    smaller = c.flags("stage_downsample", default=(False, True, True, True), count=len(lists))
    light = c.flags("stage_light_block", default=(False, False, True, True), count=len(lists))
    stages = Layers(_stage(c, *entry) for entry in zip(lists, smaller, light, strict=True))
    embedder = Module(f"{_NAME}Embeddings", embedding, component=Component.CONV)
    encoder = Module(f"{_NAME}Encoder", stages=stages)
    return Module(name, embedder=embedder, encoder=encoder, part="vision")


def _reported(c: ModelConfig) -> tuple[Dim, ...]:
    """The widths that the backbone says it has: those of these keys, not of its convolutions."""
    sizes = (c.dim("embedding_size", default=64), *c.dims("hidden_sizes", default=_WIDTHS))
    return staged(c, sizes, len(c.dims("depths", default=(3, 4, 6, 3), minimum=0)))


def image_classification(c: ModelConfig) -> Module:
    last = c.dims("hidden_sizes", default=_WIDTHS, least=1)[-1]
    pool = Activation("AdaptiveAvgPool2d")
    flat = Activation("Flatten")
    root = _model(c, f"{_NAME}ForImageClassification").adding(avg_pool=pool, flatten=flat)
    return root.adding(fc=classifier(last, c.num_labels), classifier=ModuleList([pool, flat]))


_CLASSES = {f"{_NAME}Backbone": _model, f"{_NAME}ForImageClassification": image_classification}
hands_on("hgnet_v2", _reported)
register("hgnet_v2", _CLASSES, base=f"{_NAME}Backbone", category="vision")
