"""UNet3DConditionModel: text to video by ModelScope (Wang et al. 2023). Source of shapes:
diffusers/models/unets/{unet_3d_condition,unet_3d_blocks}.py."""

from ..layers.diffusion import timestep_embedding
from ..layers.unet_over_time import channels_of, ladder, temporal_transformer
from ..trees import Activation, Conv, ModelConfig, Module, register


def model(c: ModelConfig) -> Module:
    first = channels_of(c)[0]
    inner = 8 * c.dim("attention_head_dim", default=64)
    condition = c.optional_dim("time_cond_proj_dim")
    parts: dict[str, Module | None] = {
        "conv_in": Conv(c.dim("in_channels", default=4), first, 3),
        "time_proj": Activation("Timesteps"),
        "time_embedding": timestep_embedding(first, 4 * first, condition=condition),
        "transformer_in": temporal_transformer(c, first, inner),
        **ladder(c),
    }
    return Module("UNet3DConditionModel", parts, part="vision")


register((), {"UNet3DConditionModel": model}, category="diffusion", source="diffusers")
