"""ControlNetModel (Zhang et al. 2023). Source: diffusers/models/controlnets/controlnet.py.

The way down and the middle of a UNet2DConditionModel, an encoder of the condition image, and a 1x1
convolution on each output that the UNet will add to its own.
"""

from itertools import pairwise
from typing import Final

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.unet_conditions import stem
from ..trees.catalog import register
from ..trees.modules import Conv, Layers, Module, ModuleList
from .unet_2d_condition import Plan, down_blocks, middle, plan

#: Settings of the UNet that a ControlNet copies into its config but does not have.
_NOT_HERE: Final = frozenset(
    {
        "time_embedding_type", "time_embedding_dim", "time_cond_proj_dim", "conv_in_kernel",
        "class_embeddings_concat", "dual_cross_attention", "attention_type", "num_attention_heads",
    }
)  # fmt: skip


def condition_encoder(c: ModelConfig, width: Dim, inputs: Dim | None = None) -> Module:
    """Convolutions from the condition image to the width of the first block."""
    channels = c.dims("conditioning_embedding_out_channels", default=(16, 32, 96, 256))
    if not channels:
        raise c.error("conditioning_embedding_out_channels", [], "at least one width")
    blocks: list[Module] = []
    for inner, outer in pairwise(channels):
        blocks += [Conv(inner, inner, 3), Conv(inner, outer, 3, stride=2)]
    return Module(
        "ControlNetConditioningEmbedding",
        conv_in=Conv(inputs or c.dim("conditioning_channels", default=3), channels[0], 3),
        blocks=ModuleList(blocks),
        conv_out=Conv(channels[-1], width, 3),
        component=Component.CONV,
    )


def controls(p: Plan) -> dict[str, Module]:
    """A 1x1 convolution for each output of the way down and one for the middle's."""
    widths, last, to = [p.channels[0]], p.channels[-1], Component.PROJECTOR
    for i, width in enumerate(p.channels):
        changes_size = i < len(p.channels) - 1
        widths += [width] * (int(p.layers[i]) + changes_size)
    convs = [Conv(width, width, 1) for width in widths]
    return {
        "controlnet_down_blocks": ModuleList(convs, component=to),
        "controlnet_mid_block": Conv(last, last, 1, component=to),
    }


def model(config: ModelConfig) -> Module:
    kept = {key: value for key, value in config.values.items() if key not in _NOT_HERE}
    if config.has("num_attention_heads"):
        kept["attention_head_dim"] = config.raw("num_attention_heads")
    if kept.get("class_embed_type") == "simple_projection":  # the UNet's, read past here
        kept["class_embed_type"] = "identity"
    c = ModelConfig(kept, config.path)
    c.count("layers_per_block", default=2)  # one number here, not a list
    p = plan(c)
    return Module(
        "ControlNetModel",
        {
            **stem(c, p.channels[0]),
            "controlnet_cond_embedding": condition_encoder(c, p.channels[0]),
            "down_blocks": Layers(down_blocks(c, p)),
            **controls(p),
            "mid_block": middle(c, p),
        },
        part="vision",
    )


register((), {"ControlNetModel": model}, category="diffusion", source="diffusers")
