"""Conditional DETR (Meng et al. 2021): DETR whose decoder projects contents and positions apart.
File names are those of the first release: projections next to the attention that they belong to.
Source: transformers/models/conditional_detr."""

from functools import partial

from ..layers.composing import renamed
from ..layers.deformable import detector_layer, first_and_rest, predictor, width
from ..trees import Component, LayerNorm, Linear, ModelConfig, Module
from . import detr

_NAME = "ConditionalDetr"


def decoder_layer(c: ModelConfig, *, first: bool) -> Module:
    """DETR's; the positions of the queries are added to the picture's in the first layer alone."""
    d = width(c)
    name = f"{_NAME}Decoder"
    to = partial(Linear, component=Component.ATTENTION)
    out = to(d, d, kind="output")
    looks = (Module(f"{name}{kind}Attention", out_proj=out) for kind in ("Self", "Cross"))
    kinds = {"qcontent": "query", "qpos": "query", "kcontent": "key", "kpos": "key", "v": "value"}
    parts = {
        f"{side}_{part}_proj": to(d, d, kind=kind)
        for side in ("sa", "ca")
        for part, kind in kinds.items()
        if first or (side, part) != ("ca", "qpos")
    }
    inner = c.dim("decoder_ffn_dim", default=2048)
    sine = to(d, d, kind="query")
    layer = detector_layer(f"{name}Layer", d, inner, *looks)
    return layer.adding(**parts, ca_qpos_sine_proj=sine)


def model(c: ModelConfig) -> Module:
    """DETR's with another decoder and 300 queries."""
    d = width(c)
    parts = {"layers": first_and_rest(c, decoder_layer), "layernorm": LayerNorm(d)}
    scale = predictor(_NAME, (d, d, d))
    points = predictor(_NAME, (d, d, 2))
    decoder = Module(f"{_NAME}Decoder", parts, query_scale=scale, ref_point_head=points)
    root = detr.model(c.with_defaults(num_queries=300)).adding(decoder=decoder)
    return renamed(root, "Detr", _NAME)


detr.register_detr("conditional_detr", _NAME, model, 0)
