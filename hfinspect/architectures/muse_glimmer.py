"""Muse Glimmer (Meta 2026), text and vision. Source: transformers/models/muse_glimmer.

A decoder with four norms a layer, a gate as wide as the attention's output and a norm without
weight on q, k and the embedding; a ViT that reads patches of space and time through a linear. Both
are traces.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.multimodal import linear_projector, projector, register_worded, text_width
from ..trees.catalog import builder
from ..trees.modules import Linear, Module


def projections(c: ModelConfig, hidden: Dim, adapter: str) -> dict[str, Module]:
    """From merged patches to the width of the text."""
    width = c.dim("projector_hidden_size", default=4096)
    return {
        "vision_adapter": projector(
            adapter,
            fc1=Linear(c.dim("out_hidden_size", default=6144), width, bias=False),
            act=activation(c.text("projector_hidden_act", default="gelu")),
            fc2=Linear(width, width, bias=False),
        ),
        "vision_projection": linear_projector(width, hidden, bias=False),
    }


def model(c: ModelConfig) -> Module:
    decoder = builder("MuseGlimmerTextModel")(c.section("text_config"))
    parts = {
        "vision_tower": builder("MuseGlimmerVisionModel")(c.section("vision_config")),
        "language_model": decoder,
        **projections(c, text_width(decoder), "MuseGlimmerVisionAdapter"),
    }
    return Module("MuseGlimmerModel", dict(parts))


register_worded("muse_glimmer", "MuseGlimmer", model, tied=False)
