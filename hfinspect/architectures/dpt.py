"""DPT (Ranftl et al. 2021). Source of shapes: transformers/models/dpt/modeling_dpt.py. Hybrids,
which begin with a BiT network, are not known here."""

from functools import partial

from ..layers import reassembling
from ..layers.composing import Form, renamed
from ..layers.reassembling import fused_width, fusion_layer, reassemble_stage
from ..layers.vision import register_seeing
from ..trees import Builder, Component, ModelConfig, auto_class
from ..trees.modules import Activation, BatchNorm, Conv, Dropout, Module, Sequential
from . import vit


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    if c.flag("is_hybrid", default=False):
        raise c.error("is_hybrid", True, "false: hybrids are not in the catalog")
    plain = c.with_defaults(image_size=384)
    root = renamed(vit.model(plain, pooling=pooling), "ViT", "DPTViT")
    return renamed(root, "DPTViTSelfAttention", "DPTSelfAttention").called("DPTModel")


_bare = partial(model, pooling=False)


def neck(c: ModelConfig, name: str = "DPT") -> Module:
    widths = c.dims("neck_hidden_sizes", default=(96, 192, 384, 768))
    backbone = c.section("backbone_config")
    section = backbone if c.has("backbone_config") else c
    plain = section is not c and section.model_type == "swinv2"
    stage = None if plain else reassemble_stage(c, name, vit.hidden_size(section), widths)
    return reassembling.neck(name, stage, widths, fused_width(c), fusion_layer(c, name))


_to = partial(Conv, component=Component.HEAD)
_RELU = Activation("ReLU")


def _segments(c: ModelConfig, kind: str) -> Module | None:
    fused = fused_width(c)
    normed = (_to(fused, fused, 3, bias=False), BatchNorm(fused), _RELU, Dropout(0.1))
    head = Sequential(*normed, _to(fused, c.num_labels, 1))
    has_head = kind != "Auxiliary" or c.flag("use_auxiliary_head", default=True)
    return Module(f"DPT{kind}Head", head=head, component=Component.HEAD) if has_head else None


def depth_estimation(c: ModelConfig) -> Module:
    is_inside = c.flag("is_hybrid", default=False) or not c.has("backbone_config")
    section = c.section("backbone_config")
    backbone = _bare(c) if is_inside else auto_class(section, "Backbone", part="vision")
    fused = fused_width(c)
    added = c.flag("add_projection", default=False)
    finer = (_to(fused, fused // 2, 3), Activation("Upsample"), _to(fused // 2, 32, 3), _RELU)
    parts = {"projection": _to(256, 256, 3)} if added else {}
    parts["head"] = Sequential(*finer, _to(32, 1, 1), _RELU)
    head = Module("DPTDepthEstimationHead", parts, component=Component.HEAD)
    parts = {"dpt" if is_inside else "backbone": backbone, "neck": neck(c), "head": head}
    return Module("DPTForDepthEstimation", parts, part="vision")


_FORM: Form = {
    "dpt": _bare,
    "neck": neck,
    "head": partial(_segments, kind="SemanticSegmentation"),
    "auxiliary_head": partial(_segments, kind="Auxiliary"),
}
_FORMS: dict[str, Builder | Form] = {"ForSemanticSegmentation": _FORM}
register_seeing("dpt", "DPT", model, ForDepthEstimation=depth_estimation, **_FORMS)
