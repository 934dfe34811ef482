"""Inkling 2 with its tower (2026). Source of shapes: transformers/models/inkling2.

A ViT with scaled residuals, squares of patches through two layers, and the text tower
(inkling2_text.py).  File names are those of the first release (conversion_mapping.py).
"""

from ..core.config import ModelConfig
from ..layers.composing import respelled, without_static_cache
from ..trees.catalog import builder, register
from ..trees.modules import Module, Parameter, Weight, each_module
from . import inkling2_text

_NAME = "Inkling2"
#: Keys of the release, and parts of the tower, by transformers' names.
_KEYS = {"patch_size": "native_patch_size", "spatial_merge_size": "adapter_merge_size"}
_SPELLED = {
    "layernorm_before": "ln_1", "layernorm_after": "ln_2", "fc1": "c_fc", "fc2": "c_proj",
    "lambda_1": "ls_1", "lambda_2": "ls_2",
}  # fmt: skip


def tower_in_memory(c: ModelConfig) -> Module:
    """The tower (a trace) as a save of the model without its head spells it."""
    said = {key: c.raw(key, other) for key, other in _KEYS.items() if c.has(key, other)}
    tower = builder(f"{_NAME}VisionModel")(c.with_values(**said))
    table = tower.inside("embeddings").children
    grid = tower.inside("embeddings", "position_embedding").tensor()
    table["position_embedding"] = Weight(*grid.shape, kind="position")
    del table["position_ids"]
    for block in each_module(respelled(tower, _SPELLED)):
        for name, scale in block.children.items():
            if name in ("ls_1", "ls_2") and isinstance(scale, Parameter):
                block.children[name] = Module("LayerScale", gamma=scale)
    return tower


def vision_model(c: ModelConfig) -> Module:
    """The same as files of the whole have it."""
    tower = tower_in_memory(c)
    merger = tower.children.pop("merger")
    assert isinstance(merger, Module)
    backbone = respelled(tower, {"pre_layernorm": "ln_pre"})
    outer = {"proj_in": merger.inside("linear_1"), "proj_out": merger.inside("linear_2")}
    for linear in outer.values():
        linear.component, linear.part = merger.component, merger.part
    return Module(tower.class_name, {"backbone": backbone, **outer}, part="vision")


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
