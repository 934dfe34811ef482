"""MAIRA-2 (Bannur et al. 2024). No class in transformers. Source of shapes: modeling_maira2.py in
microsoft/maira-2.
"""

from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.multimodal import linear_row, projector, tower_width
from ..trees.catalog import auto_class, register_part
from ..trees.modules import Module

_NAME = "Maira2ForConditionalGeneration"
#: Sixteen times the published depth.
_MAX_LAYERS = 64


def conditional_generation(c: ModelConfig) -> Module:
    text, seen = c.section("text_config"), c.section("vision_config")
    vision = auto_class(seen, "Backbone", default_type="dinov2", part="vision")
    depth = c.dim("projector_n_layers", default=4, maximum=_MAX_LAYERS)
    act = activation(c.text("projector_hidden_act", default="gelu")).class_name
    widths = [tower_width(vision), *[text.dim("hidden_size", default=4096)] * int(depth)]
    return Module(
        _NAME,
        vision_tower=vision,
        multi_modal_projector=projector(
            "Maira2MultiModalProjector", layers=linear_row(widths, act)
        ),
        language_model=auto_class(text, "ForCausalLM", default_type="llama"),
    )


_SOURCE = "modeling_maira2.py of microsoft/maira-2"
register_part("maira2", _NAME, conditional_generation, source=_SOURCE)
