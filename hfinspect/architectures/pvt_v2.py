"""PVT v2 (Wang et al. 2021). Source of shapes: transformers/models/pvt_v2/modeling_pvt_v2.py.

Stages of attention whose keys and values come from a smaller map, and of MLPs with a convolution
per channel; overlapping patches between the stages.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.vision import MAX_STAGES, bounded, labels_classifier
from ..trees.catalog import register
from ..trees.modules import Activation, Conv, LayerNorm, Layers, Linear, Module, ModuleList


def _sizes(c: ModelConfig) -> tuple[Dim, ...]:
    return c.dims("hidden_sizes", default=(32, 64, 160, 256))


def _norm(c: ModelConfig, width: Dim) -> Module:
    return LayerNorm(width, eps=c.number("layer_norm_eps", default=1e-6))


def _attention(c: ModelConfig, width: Dim, heads: Dim, ratio: Dim) -> Module:
    c.divided(width, heads, "width of the stage", "num_attention_heads")
    bias, linear = c.flag("qkv_bias", default=True), c.flag("linear_attention", default=False)
    kernel = 1 if linear else int(ratio)
    reduced = linear or ratio > 1
    return Module(
        "PvtV2SelfAttention",
        query=Linear(width, width, bias=bias, kind="query"),
        key=Linear(width, width, bias=bias, kind="key"),
        value=Linear(width, width, bias=bias, kind="value"),
        proj=Linear(width, width, kind="output"),
        pool=Activation("AdaptiveAvgPool2d") if linear else None,
        spatial_reduction=Conv(width, width, kernel, stride=kernel, component=Component.ATTENTION)
        if reduced
        else None,
        layer_norm=_norm(c, width) if reduced else None,
        act=Activation("GELU") if linear else None,
        component=Component.ATTENTION,
    )


def _mlp(c: ModelConfig, width: Dim, inner: Dim) -> Module:
    return Module(
        "PvtV2ConvFeedForwardNetwork",
        dense1=Linear(width, inner, kind="up"),
        dwconv=Module("PvtV2DepthWiseConv", dwconv=Conv(inner, inner, 3, groups=inner)),
        intermediate_act_fn=activation(c.text("hidden_act", default="gelu")),
        dense2=Linear(inner, width, kind="down"),
        component=Component.MLP,
    )


def _stages(c: ModelConfig) -> Layers:
    sizes = _sizes(c)
    per_stage = {
        "hidden_sizes": sizes,
        "depths": bounded(c, "depths", c.dims("depths", default=(2, 2, 2, 2), minimum=0)),
        "patch_sizes": c.dims("patch_sizes", default=(7, 3, 3, 3)),
        "strides": c.dims("strides", default=(4, 2, 2, 2)),
        "num_attention_heads": c.dims("num_attention_heads", default=(1, 2, 5, 8)),
        "mlp_ratios": c.dims("mlp_ratios", default=(8, 8, 4, 4)),
        "sr_ratios": c.dims("sr_ratios", default=(8, 4, 2, 1), minimum=0),
    }
    count = int(c.dim("num_encoder_blocks", default=4, maximum=MAX_STAGES))
    for key, found in per_stage.items():
        if len(found) < count:
            raise c.error(key, c.raw(key), f"{count} entries, one per stage")
    inputs, stages = c.dim("num_channels", default=3), []
    for i in range(count):
        width, kernel = sizes[i], per_stage["patch_sizes"][i]
        block = Module(
            "PvtV2BlockLayer",
            layer_norm_1=_norm(c, width),
            attention=_attention(
                c, width, per_stage["num_attention_heads"][i], per_stage["sr_ratios"][i]
            ),
            layer_norm_2=_norm(c, width),
            mlp=_mlp(c, width, width * per_stage["mlp_ratios"][i]),
        )
        patches = Conv(
            inputs, width, kernel, stride=int(per_stage["strides"][i]),
            component=Component.EMBEDDING, kind="patch",
        )  # fmt: skip
        stage = Module(
            "PvtV2EncoderLayer",
            patch_embedding=Module(
                "PvtV2OverlapPatchEmbeddings",
                proj=patches,
                layer_norm=_norm(c, width),
                component=Component.EMBEDDING,
            ),
            blocks=ModuleList([block] * int(per_stage["depths"][i])),
            layer_norm=_norm(c, width),
        )
        stages.append(stage)
        inputs = width
    return Layers(stages)


def model(c: ModelConfig, *, name: str = "PvtV2Model") -> Module:
    return Module(name, encoder=Module("PvtV2Encoder", layers=_stages(c)), part="vision")


def image_classification(c: ModelConfig) -> Module:
    head = labels_classifier(c, _sizes(c)[-1])
    return Module("PvtV2ForImageClassification", pvt_v2=model(c), classifier=head, part="vision")


def backbone(c: ModelConfig) -> Module:
    return model(c, name="PvtV2Backbone")


register(
    "pvt_v2",
    {
        "PvtV2ForImageClassification": image_classification,
        "PvtV2Model": model,
        "PvtV2Backbone": backbone,
    },
    base_prefix="pvt_v2",
    category="vision",
)
