"""Inkling 2 with its tower (2026). Source of shapes: transformers/models/inkling2.

A ViT with scaled residuals, squares of patches through two layers, and the text tower
(inkling2_text.py).  File names are those of the first release (conversion_mapping.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import two_layer_mlp
from ..layers.composing import respelled, without_static_cache
from ..layers.multimodal import linear_projector, projector
from ..layers.vision import clip_attention, scaled
from ..trees.catalog import register
from ..trees.modules import LayerNorm, Layers, Linear, Module, Weight
from . import inkling2_text

_NAME = "Inkling2"


def _norm(c: ModelConfig, h: Dim) -> Module:
    return LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-5))


def vision_layer(c: ModelConfig, h: Dim) -> Module:
    given = c.optional_dim("intermediate_size")
    inner = scaled(c, h, "mlp_ratio", default=4.0) if given is None else given

    def scale() -> Module:
        return Module("LayerScale", gamma=Weight(h, kind="scale"))

    return Module(
        f"{_NAME}VisionEncoderLayer",
        self_attn=clip_attention(f"{_NAME}VisionAttention", h),
        mlp=two_layer_mlp(
            f"{_NAME}VisionMLP", h, inner, act=c.text("hidden_act", default="gelu"),
            names=("c_fc", "c_proj"), act_name="activation_fn",
        ),
        ln_1=_norm(c, h),
        ln_2=_norm(c, h),
        ls_1=scale(),
        ls_2=scale(),
    )  # fmt: skip


def vision_model(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=1024)
    patch = c.dim("patch_size", "native_patch_size", default=20)
    grid = c.dim("posemb_grid_size", default=32)
    side = c.dim("spatial_merge_size", "adapter_merge_size", default=2)
    inner = c.dim("projection_hidden_dim", default=4096)
    bias = c.flag("projector_bias", default=False)
    pixels = c.dim("num_channels", default=3) * patch * patch
    backbone = Module(
        f"{_NAME}VisionModel",
        embeddings=Module(
            f"{_NAME}VisionEmbeddings",
            class_embedding=Weight(h, kind="class_token"),
            cls_position_embedding=Weight(h, kind="position"),
            patch_embedding=Linear(
                pixels, h, bias=False, component=Component.EMBEDDING, kind="patch"
            ),
            position_embedding=Weight(grid * grid, h, kind="position"),
            component=Component.EMBEDDING,
        ),
        ln_pre=_norm(c, h),
        layers=Layers.of(c.count("num_hidden_layers", default=23), vision_layer(c, h)),
    )

    return Module(
        f"{_NAME}VisionModel",
        backbone=backbone,
        proj_in=linear_projector(side * side * h, inner, bias=bias),
        proj_out=linear_projector(inner, c.dim("text_hidden_size", default=4608), bias=bias),
        part="vision",
    )


def generation(c: ModelConfig) -> Module:
    causal = inkling2_text.causal(c.section("text_config"))
    model = causal.inside("model")
    return Module(
        f"{_NAME}ForConditionalGeneration",
        model=Module(
            f"{_NAME}Model",
            llm=model["llm"],
            visual=vision_model(c.section("vision_config")),
        ),
    )


def tower_in_memory(c: ModelConfig) -> Module:
    """With transformers' own names for the parts of the tower."""
    tower = vision_model(c)
    backbone = respelled(tower.inside("backbone"), {"ln_pre": "pre_layernorm"})
    merger = projector(
        f"{_NAME}VisionMerger", linear_1=tower["proj_in"], linear_2=tower["proj_out"]
    )
    tower.children = {**backbone.children, "merger": merger}
    return tower


def base(c: ModelConfig) -> Module:
    """A save of it alone has the names of transformers' own attributes for the tower."""
    return Module(
        f"{_NAME}Model",
        language_model=inkling2_text.model(c.section("text_config")),
        vision_tower=tower_in_memory(c.section("vision_config")),
    )


register(
    "inkling2",
    without_static_cache({f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": base}),
    base=f"{_NAME}ForConditionalGeneration",
    category="multimodal",
)
