"""Granite Docling (IBM 2026; transformers/models/granite_docling): SigLIP, a connector that joins
squares of patches by two factors, outputs of earlier layers too (DeepStack), and Granite."""

from ..layers.multimodal import projector, register_worded, two_linears, within
from ..trees import Component, Dim, ModelConfig, config_defaults, register_part
from ..trees.modules import Activation, LayerNorm, Linear, Module, ModuleList
from . import idefics3
from .llama import LLAMA

_NAME = "GraniteDocling"
_TEXT = LLAMA.like(f"{_NAME}Text", **config_defaults("granite_docling"))


def _path(c: ModelConfig, h: Dim, out: Dim, factor: Dim) -> Module:
    """Squares of ``factor`` times ``factor`` patches as one token."""
    joined = h * factor * factor
    act = Activation("GELU")
    name = f"{_NAME}DeepStackMerger"
    merger = two_linears(name, c, joined, out, out, act=act, layer_norm=LayerNorm(joined))
    layers = c.dims("deepstack_visual_indexes", default=(3, 7, 10), minimum=-10_000)
    return Module(
        f"{_NAME}ConnectorPath",
        projection=Linear(joined, out, bias=False),
        pos_embed=Activation(f"{_NAME}PositionEmbedding"),
        deepstack_mergers=ModuleList([merger] * len(layers)),
    )


def _vision_model(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=768)
    out = c.dim("out_hidden_size", default=1024)
    factor = c.dim("scale_factor", default=4)
    sized = c.with_defaults(image_size=512, patch_size=16)
    fine = c.flag("use_fine_route", default=True)
    connector = projector(
        f"{_NAME}Connector",
        ln_in=LayerNorm(h),
        coarse=_path(c, h, out, factor),
        fine=_path(c, h, out, factor // 2) if fine else None,
        ln_mid=LayerNorm(out),
        mlp_fc2=Linear(out, out, bias=False),
        ln_out=LayerNorm(out),
    )
    tower = idefics3.vision_model(_NAME, sized, width=768).called(f"{_NAME}VisionModel")
    return tower.adding(connector=connector)


def _router(c: ModelConfig) -> Module:
    """Whether a page needs the finer path."""
    h = c.section("vision_config").dim("hidden_size", default=768)
    inner = c.dim("density_router_hidden_size")
    return Module(
        f"{_NAME}DensityRouter",
        att=Linear(h, 1),
        norm=LayerNorm(h),
        fc1=Linear(h, inner),
        act=Activation("GELU"),
        fc2=Linear(inner, 1),
        component=Component.ROUTER,
        part="projector",
    )


_PARTS = {
    "vision_model": within("vision_config", _vision_model),
    "text_model": within("text_config", _TEXT.model),
    "density_router": lambda c: _router(c) if c.has("density_router_hidden_size") else None,
}
register_worded("granite_docling", _NAME, _PARTS, tied=True, text="text_model", alone=_TEXT.model)
register_part("granite_docling_vision", f"{_NAME}VisionModel", _vision_model, "vision")
