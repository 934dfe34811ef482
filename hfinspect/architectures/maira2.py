"""MAIRA-2 (Bannur et al. 2024). No class in transformers. Source of shapes: modeling_maira2.py in
microsoft/maira-2.

LLaVA's three parts: DINOv2 as a backbone, a projector of ``projector_n_layers`` linear layers, and
a causal model.
"""

from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.multimodal import linear_row, projector, tower_width
from ..trees.catalog import auto_class, register
from ..trees.modules import Module

#: Sixteen times the published depth.
_MAX_LAYERS = 64


def _projector(c: ModelConfig, width: int, hidden: int) -> Module:
    depth = c.dim("projector_n_layers", default=4, maximum=_MAX_LAYERS)
    act = activation(c.text("projector_hidden_act", default="gelu")).class_name
    row = linear_row([width, *[hidden] * int(depth)], act)
    return projector("Maira2MultiModalProjector", layers=row)


def conditional_generation(c: ModelConfig) -> Module:
    text = c.section("text_config")
    vision = auto_class(
        c.section("vision_config"), "Backbone", default_type="dinov2", part="vision"
    )
    return Module(
        "Maira2ForConditionalGeneration",
        vision_tower=vision,
        multi_modal_projector=_projector(
            c, tower_width(vision), text.dim("hidden_size", default=4096)
        ),
        language_model=auto_class(text, "ForCausalLM", default_type="llama"),
    )


register(
    "maira2",
    {"Maira2ForConditionalGeneration": conditional_generation},
    category="multimodal",
    source="modeling_maira2.py of microsoft/maira-2",
)
