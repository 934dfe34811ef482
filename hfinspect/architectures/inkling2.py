"""Inkling 2 with its tower (2026; transformers/models/inkling2): a ViT with scaled residuals,
squares of patches through two layers, and text. File names are those of the first release."""

from ..core.library_versions import REVISED
from ..layers.composing import composed, respelled, without_static_cache
from ..layers.multimodal import within
from ..trees import ModelConfig, Module, Weight, builder, register
from . import inkling2_text

_NAME = "Inkling2"
#: Keys of the release, and parts of the tower, by transformers' names.
_KEYS = {"patch_size": "native_patch_size", "spatial_merge_size": "adapter_merge_size"}
_SPELLED = {
    "layernorm_before": "ln_1",
    "layernorm_after": "ln_2",
    "fc1": "c_fc",
    "fc2": "c_proj",
    "lambda_1": "ls_1.gamma",
    "lambda_2": "ls_2.gamma",
}


def _in_memory(c: ModelConfig) -> Module:
    """The tower (a trace) as a save of the model without its head spells it."""
    values = {key: c.raw(key, other) for key, other in _KEYS.items() if c.has(key, other)}
    tower = builder(f"{_NAME}VisionModel")(c.with_values(**values))
    grid = tower.inside("embeddings", "position_embedding").tensor()
    table = Weight(*grid.shape, kind="position")
    tower.inside("embeddings").without("position_ids").adding(position_embedding=table)
    return respelled(tower, _SPELLED, "LayerScale")


def _vision_model(c: ModelConfig) -> Module:
    """The same as files of the whole have it."""
    tower = _in_memory(c)
    merger = tower.inside("merger")
    outer = {"proj_in": merger.inside("linear_1"), "proj_out": merger.inside("linear_2")}
    for linear in outer.values():
        linear.component, linear.part = merger.component, merger.part
    backbone = respelled(tower.without("merger"), {"pre_layernorm": "ln_pre"})
    return Module(tower.class_name, {"backbone": backbone, **outer}, part="vision")


def _generation(c: ModelConfig) -> Module:
    llm = inkling2_text.causal(c.section("text_config")).inside("model", "llm")
    model = Module(f"{_NAME}Model", llm=llm, visual=_vision_model(c.section("vision_config")))
    return Module(_WHOLE, model=model)


def _tower_alone(c: ModelConfig) -> Module:
    """A save without the head had the tower's names in memory until the release REVISED."""
    return (_in_memory if c.saved_between("0", REVISED) else _vision_model)(c)


#: A save of it alone has the names of transformers' own attributes for the tower.
_PARTS = {
    "language_model": within("text_config", inkling2_text.model),
    "vision_tower": within("vision_config", _tower_alone),
}
_WHOLE = f"{_NAME}ForConditionalGeneration"
_CLASSES = composed({_WHOLE: _generation, f"{_NAME}Model": _PARTS})
register("inkling2", without_static_cache(_CLASSES), base=_WHOLE, category="multimodal")
