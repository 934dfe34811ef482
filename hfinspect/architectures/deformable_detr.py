"""Deformable DETR (Zhu et al. 2020): DETR over several scales of the picture; each query looks at a
few points of each. Source: transformers/models/deformable_detr."""

from functools import partial

from ..layers import deformable
from ..layers.composing import renamed
from ..layers.deformable import deformable_attention, detector_layer, label_scores, levels, width
from ..layers.vision import clip_attention
from ..trees import Component, ModelConfig, register_pair
from ..trees.modules import Embedding, LayerNorm, Layers, Linear, Module, ModuleList, Weight
from . import detr

_NAME = "DeformableDetr"


def layers(c: ModelConfig, side: str, *count: str) -> Module:
    """The encoder or the decoder, in which queries also look at themselves."""
    d = width(c)
    inner = c.dim(f"{side}_ffn_dim", default=1024)
    looks = [deformable_attention(c, _NAME, side)]
    if side == "decoder":
        looks.insert(0, clip_attention(f"{_NAME}SelfAttention", d))
    name = f"{_NAME}{side.capitalize()}"
    layer = detector_layer(f"{name}Layer", d, inner, *looks)
    return Module(name, layers=Layers.of(c.count(f"{side}_layers", *count, default=6), layer))


def model(c: ModelConfig) -> Module:
    d = width(c)
    two = c.flag("two_stage", default=False)
    network, sizes = detr.backbone(c, 3, (2, 3, 4) if int(levels(c)) > 1 else (4,))
    queries = c.dim("num_queries", default=300)
    root = Module(
        f"{_NAME}Model",
        backbone=renamed(network, "Detr", _NAME),
        position_embedding=deformable.positions(c, _NAME),
        input_proj=deformable.projections(c, sizes, d),
        query_position_embeddings=None if two else Embedding(queries, d * 2, kind="position"),
        encoder=layers(c, "encoder", "num_hidden_layers"),
        decoder=layers(c, "decoder"),
        level_embed=Weight(levels(c), d, component=Component.EMBEDDING, kind="position"),
        part="vision",
    )
    if not two:
        return root.adding(reference_points=Linear(d, 2, component=Component.EMBEDDING))
    root.adding(enc_output=Linear(d, d), enc_output_norm=LayerNorm(d))
    return root.adding(pos_trans=Linear(2 * d, 2 * d), pos_trans_norm=LayerNorm(2 * d))


def object_detection(c: ModelConfig) -> Module:
    """One head for all layers; with refined boxes one for each, which the decoder holds, and in
    two stages one more, its labels held by the decoder as well."""
    d = width(c)
    root = Module(f"{_NAME}ForObjectDetection", model=model(c), part="vision")
    two = c.flag("two_stage", default=False)
    refined = c.flag("with_box_refine", default=False)
    every = range(c.count("decoder_layers", default=6) + two)
    labels = partial(label_scores, c, d)
    boxes = partial(deformable.predictor, _NAME, (d, d, d, 4))
    for name, head, each in (("class_embed", labels, two), ("bbox_embed", boxes, refined)):
        if each:
            root.inside("model", "decoder").children[name] = ModuleList(head() for _ in every)
        names = [f"model.decoder.{name}.{i}" if each else f"{name}.0" if i else None for i in every]
        root.children[name] = ModuleList(head(at if c.tied() else None) for at in names)
    return root


_ENDING = "ForObjectDetection"
register_pair("deformable_detr", _NAME, object_detection, model, "vision", ending=_ENDING)
