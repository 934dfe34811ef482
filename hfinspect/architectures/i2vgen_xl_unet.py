"""I2VGenXLUNet: a video from an image (Zhang et al. 2023).

Source of shapes: diffusers/models/unets/unet_i2vgen_xl.py. The ladder of unet_3d_condition.py; the
image comes in next to the noise, through a look at all frames, and as words of the context.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.diffusion import (
    Residual,
    attention,
    feed_forward,
    timestep_embedding,
    unet_end,
    widths,
)
from ..trees.catalog import register
from ..trees.modules import Activation, Conv, LayerNorm, Layers, Linear, Module, Sequential
from .unet_3d_condition import ladder, temporal_transformer


def _image(c: ModelConfig) -> dict[str, Module]:
    channels, context = c.dim("in_channels", default=4), c.dim("cross_attention_dim", default=1024)
    act = Activation("SiLU")

    def conv(inputs: int, outputs: int, to: Component, *, stride: int = 1) -> Module:
        return Conv(inputs, outputs, 3, stride=stride, component=to)

    noise, words = Component.PROJECTOR, Component.EMBEDDING
    looked = feed_forward(channels, gated=False)
    looked.component = words
    return {
        "image_latents_proj_in": Sequential(
            conv(4, 4 * channels, noise),
            act,
            conv(4 * channels, 4 * channels, noise),
            act,
            conv(4 * channels, channels, noise),
        ),
        "image_latents_temporal_encoder": Module(
            "I2VGenXLTransformerTemporalEncoder",
            norm1=LayerNorm(channels),
            attn1=attention(channels, 2 * channels),
            ff=looked,
        ),
        "image_latents_context_embedding": Sequential(
            conv(4, 8 * channels, words),
            act,
            Activation("AdaptiveAvgPool2d"),
            conv(8 * channels, 16 * channels, words, stride=2),
            act,
            conv(16 * channels, context, words, stride=2),
        ),
    }


def model(config: ModelConfig) -> Module:
    ignored = ("num_attention_heads", "norm_eps", "time_cond_proj_dim")
    kept = {key: value for key, value in config.given.items() if key not in ignored}
    if "norm_num_groups" in kept and kept["norm_num_groups"] is None:
        raise config.error("norm_num_groups", None, "a number")
    c = ModelConfig(kept, config.path)
    first, channels = widths(c, default=(320, 640, 1280, 1280))[0], c.dim("in_channels", default=4)
    groups = c.dim("norm_num_groups", default=32)
    context = c.dim("cross_attention_dim", default=1024)
    time, act = 4 * first, Activation("SiLU")
    inner = 8 * c.dim("attention_head_dim", default=64)
    to = Component.EMBEDDING
    return Module(
        "I2VGenXLUNet",
        {
            "conv_in": Conv(channels + channels, first, 3),
            "transformer_in": temporal_transformer(first, inner, groups, layers=Layers),
            **_image(c),
            "time_proj": Activation("Timesteps"),
            "time_embedding": timestep_embedding(first, time),
            "context_embedding": Sequential(
                Linear(context, time), act, Linear(time, context * channels), component=to
            ),
            "fps_embedding": Sequential(Linear(first, time), act, Linear(time, time), component=to),
            **ladder(c),
            **unet_end(c, first, Residual(groups=groups)),
        },
        part="vision",
    )


register((), {"I2VGenXLUNet": model}, category="diffusion", source="diffusers")
