"""MAIRA-2 (Bannur et al. 2024)."""

from ..layers.blocks import activation
from ..layers.multimodal import any_causal, linear_row, projector, tower_width
from ..trees import ModelConfig, Module, auto_class, register_part

_NAME = "Maira2ForConditionalGeneration"


def conditional_generation(c: ModelConfig) -> Module:
    width = c.section("text_config").dim("hidden_size", default=4096)
    section = c.section("vision_config")
    vision = auto_class(section, "Backbone", default_type="dinov2", part="vision")
    depth = c.dim("projector_n_layers", default=4, maximum=64)  # sixteen times the published
    act = activation(c.text("projector_hidden_act", default="gelu")).class_name
    row = linear_row([tower_width(vision), *[width] * int(depth)], act)
    return Module(
        _NAME,
        vision_tower=vision,
        multi_modal_projector=projector("Maira2MultiModalProjector", layers=row),
        language_model=any_causal("text_config", "llama")(c),
    )


register_part(
    "maira2", _NAME, conditional_generation, source="modeling_maira2.py of microsoft/maira-2"
)
