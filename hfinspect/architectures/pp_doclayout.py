"""PP-DocLayout V2 to V4 (PaddleOCR 2025): the parts of a page, and the order to read them in.
Source of shapes: transformers/models/pp_doclayout_v2, pp_doclayout_v3 and pp_doclayout_v4.

RT-DETR with HGNetV2. V2 has a small encoder for the order; V3 draws masks and scores pairs of
queries; V4 finds corners and scores which part follows which.
"""

import math
from functools import partial
from itertools import chain
from typing import Any

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.backbones import backbone_section
from ..layers.composing import respelled
from ..layers.convolutions import conv_layer
from ..layers.deformable import label_scores, layer_heads, norm, predictor
from ..layers.deformable import width as _d
from ..layers.encoders import embeddings, encoder, hidden
from ..trees.catalog import register_pair
from ..trees.modules import Activation, Conv, Embedding, Layers, Linear, Module, ModuleList, Weight
from . import rt_detr

_NAME = "PPDocLayoutV"
_H, _CONV = Component.HEAD, Component.CONV
#: What the config class of V2's encoder makes of absent keys.
READING: dict[str, Any] = {
    "vocab_size": 4, "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8,
    "intermediate_size": 2048, "max_position_embeddings": 514, "type_vocab_size": 1,
    "layer_norm_eps": 1e-5, "hidden_act": "gelu", "max_2d_position_embeddings": 1024,
    "coordinate_size": 171, "shape_size": 170, "rel_pos_bins": 32, "rel_2d_pos_bins": 64,
    "relation_bias_embed_dim": 16, "num_classes": 20,
}  # fmt: skip


def _denoising(c: ModelConfig) -> Module:
    return Embedding(c.num_labels, _d(c), kind="detection_token")


def _completed(c: ModelConfig, version: int) -> ModelConfig:
    """With the backbone that the config class makes of none."""
    stages = [f"stage{i}" for i in range(1 if version == 3 else 2, 5)]
    seen = backbone_section(c, {"model_type": "hgnet_v2", "out_features": stages})
    return c.with_defaults(backbone_config=seen.given)


# ---- V2: an encoder for the order


def reading_order(c: ModelConfig) -> Module:
    """A small LayoutLM over boxes and labels, whose last states are compared pair by pair."""
    name, c = f"{_NAME}2ReadingOrder", c.with_defaults(**READING)
    h, heads, places = hidden(c), c.dim("num_attention_heads"), c.dim("max_2d_position_embeddings")
    corner, size = c.dim("coordinate_size"), c.dim("shape_size")
    tables = {
        f"{side}_position_embeddings": Embedding(places, width, kind="position")
        for side, width in {"x": corner, "y": corner, "h": size, "w": size}.items()
    }
    boxes = embeddings(c, f"{_NAME}2Text", more=tables)
    del boxes.children["position_ids"]
    boxes.children["spatial_proj"] = Linear(4 * corner + 2 * size, h)

    def bias(key: str) -> Module:
        kind = "relative_position"
        return Linear(c.dim(key), heads, bias=False, component=Component.ATTENTION, kind=kind)

    layers = encoder(c, name)
    if c.flag("has_relative_attention_bias", default=False):
        layers.children["rel_pos_bias"] = bias("rel_pos_bins")
    if c.flag("has_spatial_attention_bias", default=True):
        layers.children |= {f"rel_pos_{side}_bias": bias("rel_2d_pos_bins") for side in "xy"}
    pairs = c.dim("relation_bias_embed_dim") * 4
    layers.children["rel_bias_module"] = Module(
        f"{_NAME}2PositionRelationEmbedding",
        pos_proj=Conv(pairs, heads, 1, component=Component.ATTENTION),
    )
    root = Module(
        name,
        embeddings=boxes,
        label_embeddings=Embedding(c.dim("num_classes"), h, kind="segment"),
        label_features_projection=Linear(h, h, component=Component.PROJECTOR),
        encoder=layers,
        relative_head=pointer(2, h, c),
        part="text",
    )
    return respelled(root, {"LayerNorm": "norm"})


def pointer(version: int, d: Dim, c: ModelConfig) -> Module:
    """Two vectors of each part, of which pairs are compared."""
    head = c.dim("global_pointer_head_size", default=64)
    sizes = {"dense": head * 2} if version < 4 else {"q_proj": head, "k_proj": head}
    parts = {name: Linear(d, size, component=_H) for name, size in sizes.items()}
    return Module(f"{_NAME}{version}GlobalPointer", {**parts}, component=_H)


# ---- V3: masks


def mask_encoder(c: ModelConfig) -> dict[str, Module]:
    """All maps at the finest's size, and masks that others are made of."""
    name, e = f"{_NAME}3", c.dim("encoder_hidden_dim", default=256)
    channels = c.dims("mask_feature_channels", default=(64, 64))
    strides = sorted(c.dims("feat_strides", default=(8, 16, 32)))
    if len(channels) < 2 or not strides:
        key = "feat_strides" if len(channels) > 1 else "mask_feature_channels"
        raise c.error(key, c.raw(key), "a longer list")
    inner, outer = channels[:2]

    def convolution(inputs: Dim, outputs: Dim, at: Component = _CONV) -> Module:
        return conv_layer(name, inputs, outputs, 3, act="silu", component=at)

    def head(stride: Dim) -> Module:
        steps = max(1, int(math.log2(stride) - math.log2(strides[0])))
        larger = [Activation("Upsample")] * (int(stride) != int(strides[0]))
        made = [[convolution(inner if i else e, inner), *larger] for i in range(steps)]
        return Module(f"{name}ScaleHead", layers=Layers(chain.from_iterable(made)))

    mixed = Module(
        f"{name}MaskFeatFPN",
        scale_heads=ModuleList(head(stride) for stride in strides),
        output_conv=convolution(inner, outer, _H),
        component=_CONV,
    )
    last = Module(
        f"{name}EncoderMaskOutput",
        base_conv=convolution(outer, outer),
        conv=Conv(outer, c.dim("num_prototypes", default=32), 1),
        component=_CONV,
    )
    lateral = convolution(c.dim("x4_feat_dim", default=128), outer)
    return {
        "mask_feature_head": mixed,
        "encoder_mask_lateral": lateral,
        "encoder_mask_output": last,
    }


# ---- classes


def second(c: ModelConfig, *, whole: bool) -> Module:
    c, build = _completed(c, 2), rt_detr.object_detection if whole else rt_detr.model
    root = build(f"{_NAME}2", c, second=False)
    base = root.inside("model") if whole else root
    base.children["denoising_class_embed"] = _denoising(c)
    if whole:
        root.children["reading_order"] = reading_order(c.section("reading_order_config"))
    return root


def third(c: ModelConfig, *, whole: bool) -> Module:
    name, c = f"{_NAME}3", _completed(c, 3)
    d, at = _d(c), "model." if whole else ""
    base, tied = rt_detr.model(name, c, second=False), c.tied(default=True)
    maps = list(base.inside("encoder_input_proj").children.values())[1:]
    base.children["encoder_input_proj"] = ModuleList(m for m in maps if isinstance(m, Module))
    encoder, decoder = base.inside("encoder"), base.inside("decoder")
    encoder.children |= mask_encoder(c)
    decoder.children |= {
        "class_embed": label_scores(c, d, f"{at}enc_score_head" if tied else None),
        "bbox_embed": predictor(name, (d, d, d, 4), f"{at}enc_bbox_head" if tied else None),
    }
    count = int(c.count("decoder_layers", default=6))
    base.children |= {
        "decoder_order_head": ModuleList([Linear(d, d, component=_H)] * count),
        "decoder_global_pointer": pointer(3, d, c),
        "decoder_norm": norm(c, d),
        "mask_query_head": predictor(name, (d, d, d, c.dim("num_prototypes", default=32))),
    }
    if not whole:
        return base
    base.children["denoising_class_embed"] = _denoising(c)
    return Module(f"{name}ForObjectDetection", model=base, part="vision")


def fourth(c: ModelConfig, *, whole: bool) -> Module:
    """Files keep the scores of order next to the decoder."""
    name, c = f"{_NAME}4", _completed(c, 4)
    d, corners = _d(c), c.dim("num_coords", default=10)
    if int(corners) != 10:
        raise c.error("num_coords", int(corners), "10")
    base, count = rt_detr.model(name, c, second=False), int(c.count("decoder_layers", default=6))
    base.children.pop("weight_embedding", None)
    if base.children.pop("denoising_class_embed", None):
        base.children["denoising_class_embed"] = _denoising(c)
    boxes = predictor(name, (d, d, d, corners))
    decoder = base.inside("decoder").children
    decoder["query_pos_head"] = predictor(name, (corners, 2 * d, d))
    decoder |= layer_heads(c, d, count, lambda *_: boxes)
    order = ModuleList([Linear(d, d, component=_H)] * count)
    scale = Weight(1, kind="scale", component=Component.OTHER)
    base.children |= {
        "enc_bbox_head": boxes,
        "decoder_roor_order_head": order,
        "decoder_roor_global_pointer": pointer(4, d, c),
        "decoder_order_head": order,
        "decoder_global_pointer": pointer(4, d, c),
        "s2r_fusion": Module(f"{name}S2RFusion", a=scale),
    }
    return Module(f"{name}ForObjectDetection", model=base, part="vision") if whole else base


for version, build in ((2, second), (3, third), (4, fourth)):
    prefix, prefix_type = f"{_NAME}{version}", f"pp_doclayout_v{version}"
    whole, model = partial(build, whole=True), partial(build, whole=False)
    register_pair(prefix_type, prefix, whole, model, "vision", ending="ForObjectDetection")
