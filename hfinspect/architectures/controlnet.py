"""ControlNetModel (Zhang et al. 2023). Source: diffusers/models/controlnets/controlnet.py. The way
down and the middle of a UNet2DConditionModel, and convolutions for what the UNet will add."""

from itertools import pairwise

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.unet_conditions import stem
from ..trees.catalog import register
from ..trees.modules import Conv, Layers, Module, ModuleList
from .unet_2d_condition import Ladder

#: Settings of the UNet that a ControlNet copies into its config but does not have.
_NOT_HERE = """time_embedding_type time_embedding_dim time_cond_proj_dim conv_in_kernel
    attention_type class_embeddings_concat dual_cross_attention num_attention_heads""".split()


def condition_encoder(c: ModelConfig, width: Dim, inputs: Dim | None = None) -> Module:
    """Convolutions from the condition image to the width of the first block."""
    key = "conditioning_embedding_out_channels"
    channels, blocks = c.dims(key, default=(16, 32, 96, 256), least=1), list[Module]()
    for inner, outer in pairwise(channels):
        blocks += [Conv(inner, inner, 3), Conv(inner, outer, 3, stride=2)]
    seen, out = inputs or c.dim("conditioning_channels", default=3), Conv(channels[-1], width, 3)
    parts = {"conv_in": Conv(seen, channels[0], 3), "blocks": ModuleList(blocks), "conv_out": out}
    return Module("ControlNetConditioningEmbedding", parts)


def controls(ladder: Ladder) -> dict[str, Module]:
    """A 1x1 convolution for each output of the way down and one for the middle's."""
    widths, to = [ladder.channels[0]], Component.PROJECTOR
    for width, layers in zip(ladder.channels, ladder.layers, strict=True):
        widths += [width] * (int(layers) + 1)
    convs = [Conv(width, width, 1) for width in widths[:-1]]  # the last keeps the resolution
    middle = Conv(widths[-1], widths[-1], 1, component=to)
    down = ModuleList(convs, component=to)
    return {"controlnet_down_blocks": down, "controlnet_mid_block": middle}


def model(config: ModelConfig) -> Module:
    kept = {key: value for key, value in config.values.items() if key not in _NOT_HERE}
    if config.has("num_attention_heads"):
        kept["attention_head_dim"] = config.raw("num_attention_heads")
    if kept.get("class_embed_type") == "simple_projection":  # the UNet's, read past here
        kept["class_embed_type"] = "identity"
    c = ModelConfig(kept, config.path)
    c.count("layers_per_block", default=2)  # one number here, not a list
    ladder = Ladder(c)
    parts: dict[str, Module | None] = {
        **stem(c, ladder.channels[0]),
        "controlnet_cond_embedding": condition_encoder(c, ladder.channels[0]),
        "down_blocks": Layers(ladder.way()),
        **controls(ladder),
        "mid_block": ladder.middle(),
    }
    return Module("ControlNetModel", parts, part="vision")


register((), {"ControlNetModel": model}, category="diffusion", source="diffusers")
