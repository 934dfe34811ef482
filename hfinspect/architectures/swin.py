"""Swin (Liu et al. 2021). Source of shapes: transformers/models/swin/modeling_swin.py.

Attention within windows, each layer with a table of relative positions; between stages four
neighbours merge into one of twice the width. Files keep BERT's nesting of the attention.
"""

from collections.abc import Callable

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.vision import (
    labels_classifier,
    pair,
    patch_conv,
    patch_count,
    scaled,
    stage_depths,
)
from ..trees.catalog import Builder, register
from ..trees.handed_on import chosen_stages
from ..trees.modules import (
    Activation,
    Buffer,
    Conv,
    Dropout,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Sequential,
    Weight,
)

#: Builds the ``self`` part of an attention from config, width and heads of the stage.
Attention = Callable[[ModelConfig, Dim, Dim], Module]


def stages(c: ModelConfig) -> list[tuple[Dim, Dim, Dim]]:
    """(width, heads, depth) of each stage; the width doubles from stage to stage."""
    depths = stage_depths(c, (2, 2, 6, 2))
    heads = c.dims("num_heads", "num_attention_heads", default=(3, 6, 12, 24))
    if len(heads) < len(depths):
        raise c.error("num_heads", c.raw("num_heads"), f"{len(depths)} entries, one per stage")
    first = c.dim("embed_dim", default=96)
    return [(first * 2**i if i else first, heads[i], depths[i]) for i in range(len(depths))]


def _embeddings(name: str, c: ModelConfig, extra: int, masked: bool) -> Module:
    width = c.dim("embed_dim", default=96)
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=4)
    absolute = c.flag("use_absolute_embeddings", default=False)
    positions = patch_count(image, patch) + extra if extra else patch_count(image, patch)
    return Module(
        f"{name}Embeddings",
        mask_token=Weight(1, 1, width, kind="mask_token") if masked else None,
        position_embeddings=Weight(1, positions, width, kind="position") if absolute else None,
        patch_embeddings=Module(
            f"{name}PatchEmbeddings",
            projection=patch_conv(c.dim("num_channels", default=3), width, patch),
        ),
        norm=LayerNorm(width),
        dropout=Dropout(c.number("hidden_dropout_prob", default=0.0)),
        component=Component.EMBEDDING,
    )


def stage_layer(name: str, c: ModelConfig, width: Dim, attention: Module) -> Module:
    inner = scaled(c, width, "mlp_ratio", default=4.0)
    eps = c.number("layer_norm_eps", default=1e-5)
    return Module(
        f"{name}Layer",
        layernorm_before=LayerNorm(width, eps=eps),
        attention=Module(
            f"{name}Attention",
            {
                "self": attention,
                "output": Module(f"{name}SelfOutput", dense=Linear(width, width, kind="output")),
            },
            component=Component.ATTENTION,
        ),
        layernorm_after=LayerNorm(width, eps=eps),
        intermediate=Module(
            f"{name}Intermediate",
            dense=Linear(width, inner, kind="up"),
            intermediate_act_fn=activation(c.text("hidden_act", default="gelu")),
            component=Component.MLP,
        ),
        output=Module(
            f"{name}Output", dense=Linear(inner, width, kind="down"), component=Component.MLP
        ),
    )


def merging(name: str, width: Dim, *, norm_after: bool) -> Module:
    """Four neighbours side by side, then projected to twice the width: 8·W² weights."""
    return Module(
        f"{name}PatchMerging",
        reduction=Linear(4 * width, 2 * width, bias=False, component=Component.CONV),
        norm=LayerNorm(2 * width if norm_after else 4 * width),
    )


def register_swin(name: str, model_type: str, attention: Attention, *, second: bool) -> None:
    """The classes of Swin or (``second``) Swin v2: norm after merging, one position more."""

    def body(c: ModelConfig, *, masked: bool = False) -> dict[str, Module]:
        found = stages(c)
        built = []
        for i, (width, heads, depth) in enumerate(found):
            layer = stage_layer(name, c, width, attention(c, width, heads))
            last = i == len(found) - 1
            stage = Module(
                f"{name}Stage",
                blocks=ModuleList([layer] * int(depth)),
                downsample=None if last else merging(name, width, norm_after=second),
            )
            built.append(stage)
        return {
            "embeddings": _embeddings(name, c, 1 if second else 0, masked),
            "encoder": Module(f"{name}Encoder", layers=Layers(built)),
        }

    def last_width(c: ModelConfig) -> Dim:
        return stages(c)[-1][0]

    def model(c: ModelConfig, *, masked: bool = False) -> Module:
        norm = LayerNorm(last_width(c), eps=c.number("layer_norm_eps", default=1e-5))
        parts = {**body(c, masked=masked), "layernorm": norm}
        return Module(f"{name}Model", parts, part="vision")

    def image_classification(c: ModelConfig) -> Module:
        head = labels_classifier(c, last_width(c))
        return Module(
            f"{name}ForImageClassification",
            {model_type: model(c), "classifier": head},
            part="vision",
        )

    def masked_image_modeling(c: ModelConfig) -> Module:
        stride = c.dim("encoder_stride", default=32)
        pixels = stride * stride * c.dim("num_channels", default=3)
        # As many doublings as num_layers says, which is the number of stages unless it is given.
        doublings = int(c.count("num_layers", default=len(stages(c)), minimum=1)) - 1
        first = c.dim("embed_dim", default=96)
        decoder = Sequential(
            Conv(first * 2**doublings if doublings else first, pixels, 1, component=Component.HEAD),
            Activation("PixelShuffle"),
            component=Component.HEAD,
        )
        return Module(
            f"{name}ForMaskedImageModeling",
            {model_type: model(c, masked=True), "decoder": decoder},
            part="vision",
        )

    def backbone(c: ModelConfig) -> Module:
        """The stages; the first version has a norm for each that is handed on."""
        if second:
            return Module(f"{name}Backbone", body(c), part="vision")
        sizes = (stages(c)[0][0], *(width for width, _, _ in stages(c)))
        names = ["stem", *(f"stage{i}" for i in range(1, len(sizes)))]
        norms = {names[i]: LayerNorm(sizes[i]) for i in chosen_stages(c, names)}
        whole = model(c)
        unused = Module(f"{name}Model", layernorm=whole["layernorm"])
        # Files keep the model's parts next to the norms, all but its last norm.
        parts = {**body(c), model_type: unused, "hidden_states_norms": Module("ModuleDict", norms)}
        return Module(f"{name}Backbone", parts, part="vision")

    classes: dict[str, Builder] = {
        f"{name}ForImageClassification": image_classification,
        f"{name}Model": model,
        f"{name}ForMaskedImageModeling": masked_image_modeling,
        f"{name}Backbone": backbone,
    }
    register(model_type, classes, base=f"{name}Model", base_prefix=model_type, category="vision")


def window_attention(c: ModelConfig, width: Dim, heads: Dim) -> Module:
    """q, k, v and a bias per head for every offset within a window: (2·w - 1)²."""
    window, bias = c.dim("window_size", default=7), c.flag("qkv_bias", default=True)
    c.divided(width, heads, "width of the stage", "num_heads")
    area = window * window
    side = 2 * window - 1
    return Module(
        "SwinSelfAttention",
        relative_position_bias_table=Weight(side * side, heads, kind="relative_position"),
        # Older files hold which offset each pair of positions has.
        relative_position_index=Buffer(area, area, dtype="I64", saved=False),
        query=Linear(width, width, bias=bias, kind="query"),
        key=Linear(width, width, bias=bias, kind="key"),
        value=Linear(width, width, bias=bias, kind="value"),
    )


register_swin("Swin", "swin", window_attention, second=False)
