"""I2VGenXLUNet: a video from an image and words (Zhang et al. 2023). Source of shapes:
diffusers/models/unets/unet_i2vgen_xl.py."""

from ..layers.diffusion import attention, feed_forward, timestep_embedding
from ..layers.unet_over_time import channels_of, ladder, temporal_transformer
from ..trees import Component, ModelConfig, register
from ..trees.modules import Activation, Conv, LayerNorm, Linear, Module, Sequential

_ACT = Activation("SiLU")
_WORDS = Component.EMBEDDING


def model(config: ModelConfig) -> Module:
    ignored = ("num_attention_heads", "norm_eps", "time_cond_proj_dim")
    values = {key: value for key, value in config.file_values.items() if key not in ignored}
    if config.says("norm_num_groups") and not config.has("norm_num_groups"):
        raise config.error("norm_num_groups", None, "a number")
    c = ModelConfig(values, config.path)
    first = channels_of(c)[0]
    channels = c.dim("in_channels", default=4)
    context = c.dim("cross_attention_dim", default=1024)
    time = 4 * first
    inner = 8 * c.dim("attention_head_dim", default=64)
    wide = 4 * channels
    to = Component.PROJECTOR
    looked = feed_forward(channels, gated=False)
    looked.component = _WORDS

    def conv(inputs: int, outputs: int, to: Component = _WORDS, stride: int = 1) -> Module:
        return Conv(inputs, outputs, 3, stride=stride, component=to)

    def two_layers(inputs: int, outputs: int) -> Module:
        return Sequential(Linear(inputs, time), _ACT, Linear(time, outputs), component=_WORDS)

    looks = {"norm1": LayerNorm(channels), "attn1": attention(channels, 2 * channels), "ff": looked}
    parts: dict[str, Module | None] = {
        "conv_in": Conv(channels + channels, first, 3),
        "transformer_in": temporal_transformer(c, first, inner),
        "image_latents_proj_in": Sequential(
            conv(4, wide, to), _ACT, conv(wide, wide, to), _ACT, conv(wide, channels, to)
        ),
        "image_latents_temporal_encoder": Module("I2VGenXLTransformerTemporalEncoder", looks),
        "image_latents_context_embedding": Sequential(
            conv(4, 8 * channels),
            _ACT,
            Activation("AdaptiveAvgPool2d"),
            conv(8 * channels, 16 * channels, stride=2),
            _ACT,
            conv(16 * channels, context, stride=2),
        ),
        "time_proj": Activation("Timesteps"),
        "time_embedding": timestep_embedding(first, time),
        "context_embedding": two_layers(context, context * channels),
        "fps_embedding": two_layers(first, time),
        **ladder(c),
    }
    return Module("I2VGenXLUNet", parts, part="vision")


register((), {"I2VGenXLUNet": model}, category="diffusion", source="diffusers")
