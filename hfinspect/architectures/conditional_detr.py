"""Conditional DETR (Meng et al. 2021): DETR whose decoder projects contents and positions apart.
File names are those of the first release: projections next to the attention that they belong to.
Source: transformers/models/conditional_detr."""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.deformable import detector_layer, first_and_rest, predictor, width
from ..trees.catalog import Builder, register
from ..trees.modules import LayerNorm, Linear, Module
from . import detr

_NAME = "ConditionalDetr"
#: Of self-attention and cross-attention: projection, its kind.
_PARTS = {
    "qcontent_proj": "query", "qpos_proj": "query", "kcontent_proj": "key", "kpos_proj": "key",
    "v_proj": "value",
}  # fmt: skip


def decoder_layer(c: ModelConfig, *, first: bool) -> Module:
    """DETR's; the positions of the queries are added to the picture's in the first layer alone."""
    d, inner, at = width(c), c.dim("decoder_ffn_dim", default=2048), Component.ATTENTION
    out, name = Linear(d, d, kind="output"), f"{_NAME}Decoder"
    looks = (
        Module(f"{name}{kind}Attention", out_proj=out, component=at) for kind in ("Self", "Cross")
    )
    parts = {
        f"{side}_{name}": Linear(d, d, component=at, kind=kind)
        for side in ("sa", "ca")
        for name, kind in _PARTS.items()
        if first or (side, name) != ("ca", "qpos_proj")
    }
    sine = Linear(d, d, component=at, kind="query")
    layer = detector_layer(f"{name}Layer", d, inner, *looks)
    return layer.adding(**parts, ca_qpos_sine_proj=sine)


def model(c: ModelConfig) -> Module:
    """DETR's with another decoder and 300 queries."""
    d = width(c)
    decoder = Module(
        f"{_NAME}Decoder",
        layers=first_and_rest(c, decoder_layer),
        layernorm=LayerNorm(d),
        query_scale=predictor(_NAME, (d, d, d)),
        ref_point_head=predictor(_NAME, (d, d, 2)),
    )
    root = detr.model(c.with_defaults(num_queries=300)).adding(decoder=decoder)
    return renamed(root, "Detr", _NAME)


object_detection = partial(detr.object_detection, name=_NAME, build=model, none=0)


def segmentation(c: ModelConfig) -> Module:
    return renamed(detr.segmentation(c, "conditional_detr", object_detection), "Detr", _NAME)


_CLASSES: dict[str, Builder] = {
    f"{_NAME}ForObjectDetection": object_detection,
    f"{_NAME}Model": model,
    f"{_NAME}ForSegmentation": segmentation,
}
register("conditional_detr", _CLASSES, base_prefix="model", category="vision")
