"""UNet2DConditionModel: Stable Diffusion 1, 2 and XL (Rombach et al. 2021, Podell et al. 2023).
Source of shapes: diffusers/models/unets/unet_2d_condition.py."""

from ..layers.diffusion import unet_end
from ..layers.unet_conditions import position_net, stem
from ..layers.unet_ladder import Ladder
from ..trees import Layers, ModelConfig, Module, register


def model(c: ModelConfig) -> Module:
    ladder = Ladder(c)
    kernel = int(c.dim("conv_out_kernel", default=3))
    first = ladder.channels[0]
    parts: dict[str, Module | None] = {
        **stem(c, first),
        "down_blocks": Layers(ladder.way()),
        "up_blocks": Layers(ladder.way(up=True)),
        "mid_block": ladder.middle(),
        **unet_end(c, first, ladder.residual, kernel=kernel),
        "position_net": position_net(c, ladder.context[0]),
    }
    return Module("UNet2DConditionModel", parts, part="vision")


register((), {"UNet2DConditionModel": model}, category="diffusion", source="diffusers")
