"""PoolFormer (Yu et al. 2021). Source: transformers/models/poolformer/modeling_poolformer.py.

Where a transformer attends, neighbours are averaged; what is left to learn are 1x1 convolutions.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.vision import bounded, labels_classifier, scaled
from ..trees.catalog import register
from ..trees.modules import Activation, Conv, GroupNorm, Layers, Module, ModuleList, Weight

_WIDTHS = (64, 128, 320, 512)


def widths(c: ModelConfig) -> tuple[Dim, ...]:
    """One per block; lists may be longer."""
    count = int(c.count("num_encoder_blocks", default=4))
    found = c.dims("hidden_sizes", default=_WIDTHS)
    if len(found) < count:
        raise c.error("hidden_sizes", f"{len(found)} entries", f"{count}, one per block")
    return found[:count]


def _each(c: ModelConfig, key: str, default: tuple[int, ...]) -> tuple[Dim, ...]:
    found = bounded(c, key, c.dims(key, default=default, minimum=0))
    if len(found) < len(widths(c)):
        raise c.error(key, f"{len(found)} entries", f"{len(widths(c))}, one per block")
    return found


def _norm(width: Dim) -> Module:
    norm = GroupNorm(1, width)
    norm.class_name = "PoolFormerGroupNorm"
    return norm


def layer(c: ModelConfig, width: Dim) -> Module:
    inner = scaled(c, width, "mlp_ratio", default=4.0)
    weighed = c.flag("use_layer_scale", default=True)
    return Module(
        "PoolFormerLayer",
        layer_scale_1=Weight(width, kind="layer_scale") if weighed else None,
        layer_scale_2=Weight(width, kind="layer_scale") if weighed else None,
        pooling=Module("PoolFormerPooling", pool=Activation("AvgPool2d")),
        output=Module(
            "PoolFormerOutput",
            conv1=Conv(width, inner, 1, component=None, kind="up"),
            conv2=Conv(inner, width, 1, component=None, kind="down"),
            act_fn=activation(c.text("hidden_act", default="gelu")),
            component=Component.MLP,
        ),
        before_norm=_norm(width),
        after_norm=_norm(width),
    )


def model(c: ModelConfig) -> Module:
    sizes, depths = widths(c), _each(c, "depths", (2, 2, 6, 2))
    patches = _each(c, "patch_sizes", (7, 3, 3, 3))
    inputs = (c.dim("num_channels", default=3), *sizes)
    embeddings = [
        Module(
            "PoolFormerEmbeddings",
            projection=Conv(
                inputs[i], width, patches[i], component=Component.EMBEDDING, kind="patch"
            ),
            norm=Activation("Identity"),
        )
        for i, width in enumerate(sizes)
    ]
    blocks = [
        ModuleList([layer(c, width)] * int(depth))
        for width, depth in zip(sizes, depths, strict=False)
    ]
    return Module(
        "PoolFormerModel",
        encoder=Module(
            "PoolFormerEncoder", patch_embeddings=ModuleList(embeddings), block=Layers(blocks)
        ),
        part="vision",
    )


def image_classification(c: ModelConfig) -> Module:
    width = c.dims("hidden_sizes", default=_WIDTHS)[-1]  # the list's, be it longer than the blocks
    return Module(
        "PoolFormerForImageClassification",
        poolformer=model(c),
        norm=_norm(width),
        classifier=labels_classifier(c, width),
        part="vision",
    )


register(
    "poolformer",
    {"PoolFormerForImageClassification": image_classification, "PoolFormerModel": model},
    base_prefix="poolformer",
    category="vision",
)
