"""Inkling 2 with its tower (2026; transformers/models/inkling2): a ViT with scaled residuals,
squares of patches through two layers, and text. File names are those of the first release."""

from types import ModuleType

from ..core.library_versions import REVISED
from ..layers.composing import composed, respelled
from ..layers.multimodal import within
from ..trees import Builder, ModelConfig, Module, Weight, builder, register
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
    values = {key: c.raw(key, older) for key, older in _KEYS.items() if c.has(key, older)}
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
        linear.component = merger.component
        linear.part = merger.part
    backbone = respelled(tower.without("merger"), {"pre_layernorm": "ln_pre"})
    return Module(tower.class_name, {"backbone": backbone, **outer}, part="vision")


def _tower_alone(c: ModelConfig) -> Module:
    """A save without the head had the tower's names in memory until the release REVISED."""
    return (_in_memory if c.saved_between("0", REVISED) else _vision_model)(c)


def register_whole(kind: str, name: str, text: ModuleType, width: int) -> None:
    """The classes with the tower next to a text tower. A save without the head has the names of
    transformers' own attributes for the two; ``width`` is that of the text where no section says
    anything of the tower."""
    class_name = f"{name}ForConditionalGeneration"

    def vision(c: ModelConfig) -> ModelConfig:
        return c.section("vision_config", default={"text_hidden_size": width})

    def generation(c: ModelConfig) -> Module:
        llm = text.causal(c.section("text_config")).inside("model", "llm")
        return Module(
            class_name, model=Module(f"{name}Model", llm=llm, visual=_vision_model(vision(c)))
        )

    parts: dict[str, Builder] = {
        "language_model": within("text_config", text.model),
        "vision_tower": lambda c: _tower_alone(vision(c)),
    }
    classes = composed({class_name: generation, f"{name}Model": parts})
    register(kind, classes, base=class_name, category="multimodal")


register_whole("inkling2", _NAME, inkling2_text, 4608)
