"""Networks that hand feature maps of several stages on to a head, and the widths of these."""

from __future__ import annotations

from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from ..trees.catalog import auto_class
from ..trees.modules import Module, Parameter
from .vision import chosen_stages


def backbone(c: ModelConfig, *, default_type: str) -> tuple[Module, tuple[Dim, ...]]:
    """The backbone class of a nested config, and the widths of the maps that it hands on.

    Raises ConfigError for a type whose widths are not known here.
    """
    network = auto_class(c, "Backbone", default_type=default_type, part="vision")
    return network, _widths(c.with_defaults(model_type=default_type), network)


def _widths(c: ModelConfig, network: Module) -> tuple[Dim, ...]:
    norms = network.children.get("hidden_states_norms")
    if isinstance(norms, Module):  # Swin and ConvNeXt have one for each map
        found = [norm["weight"] for norm in norms.children.values() if isinstance(norm, Module)]
        shapes = [weight.shape for weight in found if isinstance(weight, Parameter)]
        return tuple(exact(shape[0]) for shape in shapes)
    if c.model_type == "beit":
        hidden = c.dim("hidden_size", default=768)
        stages = c.count("num_hidden_layers", default=12)
        names = ["stem", *(f"stage{i}" for i in range(1, int(stages) + 1))]
        return tuple(hidden for _ in chosen_stages(c, names))
    if c.model_type not in ("resnet", "rt_detr_resnet"):
        raise c.error("model_type", c.model_type, "swin, convnext, beit, resnet or rt_detr_resnet")
    sizes = (
        c.dim("embedding_size", default=64),
        *c.dims("hidden_sizes", default=(256, 512, 1024, 2048)),
    )
    names = ["stem", *(f"stage{i}" for i in range(1, len(sizes)))]
    return tuple(sizes[i] for i in chosen_stages(c, names))
