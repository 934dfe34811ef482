"""PP-DocLayout V2 to V4 (PaddleOCR 2025): RT-DETR with HGNetV2 finds the parts of a page. V2 has a
small encoder for their order; V3 draws masks and scores pairs of queries; V4 finds corners and
scores which part follows which. Source: transformers/models/pp_doclayout_v2, _v3 and _v4."""

import math
from collections.abc import Callable
from functools import partial
from itertools import chain

from ..layers.composing import respelled
from ..layers.convolutions import conv_layer
from ..layers.deformable import label_scores, layer_heads, norm, predictor
from ..layers.deformable import width as _d
from ..layers.encoders import add_page_biases, embeddings, encoder, hidden, page_tables
from ..trees import Component, ModelConfig, config_defaults, register_pair
from ..trees.modules import Activation, Conv, Embedding, Layers, Linear, Module, ModuleList, Weight
from . import rt_detr

_NAME = "PPDocLayoutV"
BuildModel = Callable[[ModelConfig, bool], Module]
_H = Component.HEAD
_CONV = Component.CONV


def _denoising(c: ModelConfig) -> Module:
    return Embedding(c.num_labels, _d(c), kind="detection_token")


def reading_order(c: ModelConfig) -> Module:
    """A small LayoutLM over boxes and labels, whose last states are compared pair by pair."""
    name = f"{_NAME}2ReadingOrder"
    c = c.with_defaults(**config_defaults("pp_doclayout"))
    h = hidden(c)
    corner = c.dim("coordinate_size")
    size = c.dim("shape_size")
    boxes = embeddings(c, f"{_NAME}2Text", more=page_tables(c, corner, size))
    boxes.without("position_ids").adding(spatial_proj=Linear(4 * corner + 2 * size, h))
    layers = add_page_biases(c, encoder(c, name), along=False)
    bins = c.dim("relation_bias_embed_dim")
    heads = c.dim("num_attention_heads")
    compared = Conv(bins * 4, heads, 1, component=Component.ATTENTION)
    relation = Module(f"{_NAME}2PositionRelationEmbedding", pos_proj=compared)
    parts = {
        "embeddings": boxes,
        "label_embeddings": Embedding(c.dim("num_classes"), h, kind="segment"),
        "label_features_projection": Linear(h, h, component=Component.PROJECTOR),
        "encoder": layers.adding(rel_bias_module=relation),
        "relative_head": pointer(2, h, c),
    }
    return respelled(Module(name, parts, part="text"), {"LayerNorm": "norm"})


def pointer(version: int, d: int, c: ModelConfig) -> Module:
    """Two vectors of each part, of which pairs are compared."""
    head = c.dim("global_pointer_head_size", default=64)
    sizes = {"dense": head * 2} if version < 4 else {"q_proj": head, "k_proj": head}
    parts = {name: Linear(d, size, component=_H) for name, size in sizes.items()}
    return Module(f"{_NAME}{version}GlobalPointer", parts, component=_H)


def mask_encoder(c: ModelConfig) -> dict[str, Module]:
    """All maps at the finest's size, and masks that others are made of."""
    name = f"{_NAME}3"
    e = c.dim("encoder_hidden_dim", default=256)
    inner, outer = c.dims("mask_feature_channels", default=(64, 64), least=2)[:2]
    strides = sorted(c.dims("feat_strides", default=(8, 16, 32), least=1))
    convolution = partial(conv_layer, name, kernel=3, act="silu")

    def head(stride: int) -> Module:
        steps = max(1, int(math.log2(stride) - math.log2(strides[0])))
        larger = [Activation("Upsample")] * (int(stride) != int(strides[0]))
        rows = [[convolution(inner if i else e, inner), *larger] for i in range(steps)]
        return Module(f"{name}ScaleHead", layers=Layers(chain.from_iterable(rows)))

    drawn = convolution(inner, outer, component=_H)
    mixed = {"scale_heads": ModuleList(map(head, strides)), "output_conv": drawn}
    last = Conv(outer, c.dim("num_prototypes", default=32), 1)
    ends = {"base_conv": convolution(outer, outer), "conv": last}
    return {
        "mask_feature_head": Module(f"{name}MaskFeatFPN", mixed, component=_CONV),
        "encoder_mask_lateral": convolution(c.dim("x4_feat_dim", default=128), outer),
        "encoder_mask_output": Module(f"{name}EncoderMaskOutput", ends, component=_CONV),
    }


def second(c: ModelConfig, detects: bool) -> Module:
    root = (rt_detr.object_detection if detects else rt_detr.model)(f"{_NAME}2", c)
    (root.inside("model") if detects else root).adding(denoising_class_embed=_denoising(c))
    order = reading_order(c.section("reading_order_config")) if detects else None
    return root.adding(reading_order=order)


def third(c: ModelConfig, detects: bool) -> Module:
    name = f"{_NAME}3"
    d = _d(c)
    at = "model." if detects else ""
    base = rt_detr.model(name, c)
    tied = c.tied()
    inward = base.inside("encoder_input_proj")
    count = int(c.count("decoder_layers", default=6))
    base.inside("encoder").adding(**mask_encoder(c))
    base.inside("decoder").adding(
        class_embed=label_scores(c, d, f"{at}enc_score_head" if tied else None),
        bbox_embed=predictor(name, (d, d, d, 4), f"{at}enc_bbox_head" if tied else None),
    )
    return base.adding(
        encoder_input_proj=ModuleList(map(inward.inside, [*inward.children][1:])),
        decoder_order_head=ModuleList([Linear(d, d, component=_H)] * count),
        decoder_global_pointer=pointer(3, d, c),
        decoder_norm=norm(c, d),
        mask_query_head=predictor(name, (d, d, d, c.dim("num_prototypes", default=32))),
        denoising_class_embed=_denoising(c) if detects else None,
    )


def fourth(c: ModelConfig, _whole: bool) -> Module:
    """Files keep the scores of order next to the decoder."""
    name = f"{_NAME}4"
    d = _d(c)
    count = int(c.count("decoder_layers", default=6))
    corners = c.dim("num_coords", default=10, minimum=10, maximum=10)
    base = rt_detr.model(name, c)
    base.children.pop("weight_embedding", None)
    if base.children.pop("denoising_class_embed", None):
        base.adding(denoising_class_embed=_denoising(c))
    boxes = predictor(name, (d, d, d, corners))
    places = predictor(name, (corners, 2 * d, d))
    scores = layer_heads(c, d, count, lambda *_: boxes)
    base.inside("decoder").adding(query_pos_head=places, **scores)
    order = ModuleList([Linear(d, d, component=_H)] * count)
    compared = pointer(4, d, c)
    fusion = Module(f"{name}S2RFusion", a=Weight(1, kind="scale", component=Component.OTHER))
    base.adding(enc_bbox_head=boxes)
    for at in ("decoder_roor", "decoder"):
        base.adding(**{f"{at}_order_head": order, f"{at}_global_pointer": compared})
    return base.adding(s2r_fusion=fusion)


def network(name: str, build: BuildModel, first: int, detects: bool, c: ModelConfig) -> Module:
    """Without a backbone_config, HGNetV2 from that stage on."""
    stages = [f"stage{i}" for i in range(first, 5)]
    usual = {"model_type": "hgnet_v2", "out_features": stages}
    section = c.section("backbone_config", default=usual)
    base = build(c.with_defaults(backbone_config=section.file_values), detects)
    if build is second or not detects:
        return base
    return Module(f"{name}ForObjectDetection", model=base, part="vision")


for version, build, first in ((2, second, 2), (3, third, 1), (4, fourth, 2)):
    prefix = f"{_NAME}{version}"
    kind = f"pp_doclayout_v{version}"
    detector, model = (partial(network, prefix, build, first, detects) for detects in (True, False))
    register_pair(kind, prefix, detector, model, "vision", ending="ForObjectDetection")
