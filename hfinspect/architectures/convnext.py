"""ConvNeXt (Liu et al. 2022). Source of shapes: transformers/models/convnext/modeling_convnext.py.

A layer is a 7x7 convolution per channel and an MLP per pixel; between stages a norm and a strided
convolution. Version 2 differs within the MLP only (convnextv2.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.vision import chosen_stages, labels_classifier, pair, stage_depths
from ..trees.catalog import Builder, register
from ..trees.modules import Conv, LayerNorm, Layers, Linear, Module, ModuleList, Weight


def widths(c: ModelConfig) -> tuple[Dim, ...]:
    """The width of each stage, ``num_stages`` of them."""
    found = c.dims("hidden_sizes", default=(96, 192, 384, 768))
    stages = int(c.count("num_stages", "num_hidden_layers", default=4, minimum=1))
    if len(found) < stages:
        raise c.error("hidden_sizes", c.raw("hidden_sizes"), f"{stages} entries, one per stage")
    return found


def _layer(name: str, c: ModelConfig, width: Dim, *, second: bool) -> Module:
    """49·W + 8·W² weights; version 2 replaces the scale by a norm of the inner responses."""
    inner = 4 * width
    response = Module(
        f"{name}GRN",
        weight=Weight(1, 1, 1, inner),
        bias=Weight(1, 1, 1, inner),
        component=Component.NORM,
    )
    scaled = c.number("layer_scale_init_value", default=1e-6) > 0
    return Module(
        f"{name}Layer",
        layer_scale_parameter=Weight(width, kind="scale", component=Component.OTHER)
        if scaled and not second
        else None,
        dwconv=Conv(width, width, 7, groups=width),
        layernorm=LayerNorm(width, eps=1e-6, class_name=f"{name}LayerNorm"),
        pwconv1=Linear(width, inner, kind="up"),
        act=activation(c.text("hidden_act", default="gelu")),
        grn=response if second else None,
        pwconv2=Linear(inner, width, kind="down"),
        component=Component.CONV,
    )


def _stages(name: str, c: ModelConfig, *, second: bool) -> Layers:
    sizes, depths = widths(c), stage_depths(c, (3, 3, 9, 3))
    count = int(c.count("num_stages", "num_hidden_layers", default=4))
    if len(depths) < count:
        raise c.error("depths", c.raw("depths"), f"{count} entries, one per stage")
    built = []
    for i in range(count):
        before, width = sizes[max(i - 1, 0)], sizes[i]
        down: list[Module] = []
        if i:
            norm = LayerNorm(before, eps=1e-6, class_name=f"{name}LayerNorm")
            down = [norm, Conv(before, width, 2, stride=2)]
        layer = _layer(name, c, width, second=second)
        stage = Module(
            f"{name}Stage",
            downsampling_layer=ModuleList(down),
            layers=ModuleList([layer] * int(depths[i])),
        )
        built.append(stage)
    return Layers(built)


def _body(name: str, c: ModelConfig, *, second: bool) -> dict[str, Module]:
    first = widths(c)[0]
    patch = pair(c, "patch_size", default=4)
    return {
        "embeddings": Module(
            f"{name}Embeddings",
            patch_embeddings=Conv(
                c.dim("num_channels", default=3), first, patch, stride=patch,
                component=Component.EMBEDDING, kind="patch",
            ),
            layernorm=LayerNorm(first, eps=1e-6, class_name=f"{name}LayerNorm"),
            component=Component.EMBEDDING,
        ),
        "encoder": Module(f"{name}Encoder", stages=_stages(name, c, second=second)),
    }  # fmt: skip


def register_convnext(name: str, model_type: str, *, second: bool) -> None:
    def model(c: ModelConfig) -> Module:
        norm = LayerNorm(widths(c)[-1], eps=c.number("layer_norm_eps", default=1e-12))
        parts = {**_body(name, c, second=second), "layernorm": norm}
        return Module(f"{name}Model", parts, part="vision")

    def classes(c: ModelConfig) -> Module:
        head = labels_classifier(c, widths(c)[-1])
        return Module(
            f"{name}ForImageClassification",
            {model_type: model(c), "classifier": head},
            part="vision",
        )

    def backbone(c: ModelConfig) -> Module:
        """The stages, and a norm for each that is handed on."""
        seen = widths(c)
        sizes = (seen[0], *seen)
        # As many names as depths, be it more than there are stages.
        depths = len(stage_depths(c, (3, 3, 9, 3)))
        names = ["stem", *(f"stage{i}" for i in range(1, depths + 1))]
        norms = {
            names[i]: LayerNorm(sizes[i], eps=1e-6, class_name=f"{name}LayerNorm")
            for i in chosen_stages(c, names[: len(sizes)])
        }
        parts = {
            **_body(name, c, second=second),
            "hidden_states_norms": Module("ModuleDict", norms),
        }
        return Module(f"{name}Backbone", parts, part="vision")

    builders: dict[str, Builder] = {
        f"{name}ForImageClassification": classes,
        f"{name}Model": model,
        f"{name}Backbone": backbone,
    }
    register(model_type, builders, base=f"{name}Model", base_prefix=model_type, category="vision")


register_convnext("ConvNext", "convnext", second=False)
