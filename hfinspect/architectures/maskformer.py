"""MaskFormer (Cheng et al. 2021): one mask and one label for each query; a pyramid over the maps of
a Swin of its own or of any backbone, and DETR's decoder. Source: transformers/models/maskformer."""

from functools import partial

from ..layers.backbones import backbone
from ..layers.composing import renamed
from ..layers.deformable import in_groups, width
from ..layers.heads import classifier, register_headed
from ..trees import Activation, Component, Conv, Embedding, LayerNorm, Layers, ModelConfig, Module
from ..trees.config_defaults import config_defaults
from . import detr
from .mask2former import criterion, mask_head

_NAME = "MaskFormer"
#: What MaskFormerConfig makes of an absent backbone_config.
BACKBONE = config_defaults("maskformer")


def _decoder(c: ModelConfig) -> ModelConfig:
    """DETR's config; that of another type cannot be read as one."""
    return c.section("decoder_config").of_type("detr")


def model(c: ModelConfig) -> Module:
    section = c.section("backbone_config", default=BACKBONE).with_defaults(model_type="swin")
    if section.model_type == "swin":  # four maps, whatever it lists
        four = {"out_features": [f"stage{i}" for i in range(1, 5)], "out_indices": None}
        values = {**section.file_values, "model_type": "maskformer-swin", **four}
        section = ModelConfig(values, section.path)
    network, sizes = backbone(section, default_type="swin", least=1)
    wide = c.dim("fpn_feature_size", default=256)
    mask = c.dim("mask_feature_size", default=256)
    to = in_groups(c, wide, "fpn_feature_size")
    block = partial(to, kernel=3, act=True, class_name=f"{_NAME}FPNConvLayer")
    finer = [Module(f"{_NAME}FPNLayer", proj=to(size), block=block(wide)) for size in sizes[-2::-1]]
    stages = Layers(finer, class_name="Sequential")
    fpn = Module(f"{_NAME}FPNModel", stem=block(sizes[-1]), layers=stages)
    drawn = Conv(wide, mask, 3, component=Component.PROJECTOR)
    pyramid = Module(f"{_NAME}PixelDecoder", fpn=fpn, mask_projection=drawn)
    level = Module(f"{_NAME}PixelLevelModule", encoder=network, decoder=pyramid)
    detr_config = _decoder(c)
    d = width(_decoder(c))
    layers = renamed(detr.layers(detr_config, "decoder"), "Detr", f"{_NAME}Detr")
    projection = Conv(sizes[-1], d, 1, component=Component.PROJECTOR)
    queries = Module(
        f"{_NAME}TransformerModule",
        position_embedder=Activation(f"{_NAME}SinePositionEmbedding"),
        queries_embedder=Embedding(detr_config.dim("num_queries", default=100), d, kind="position"),
        input_projection=projection if int(sizes[-1]) != int(d) else None,
        decoder=Module(f"{_NAME}DetrDecoder", layers=layers, layernorm=LayerNorm(d)),
    )
    parts = {"pixel_level_module": level, "transformer_module": queries}
    return Module(f"{_NAME}Model", parts, part="vision")


register_headed(
    "maskformer",
    _NAME,
    "ForInstanceSegmentation",
    model,
    class_predictor=lambda c: classifier(width(_decoder(c)), c.num_labels + 1),
    mask_embedder=lambda c: mask_head(c, width(_decoder(c)), "Maskformer", "PredictionBlock"),
    criterion=partial(criterion, name=_NAME),
)
