"""Phi-4-multimodal (Microsoft 2025). Source of shapes: transformers/models/phi4_multimodal. Phi-3's
decoder; next to the token embedding a SigLIP tower for images and a Conformer for sound, each with
its projections, sound with a second pair for sound that comes with images."""

import math
from collections.abc import Callable
from functools import partial

from ..layers.conformers import subsampling
from ..layers.decoders import Decoder
from ..layers.vision import narrowed_attention
from ..trees import Component, Dim, ModelConfig, builder, named, register_part
from ..trees.modules import Buffer, Conv, Embedding, LayerNorm, Layers, Linear, Module, Weight
from .phi3 import PHI3

_NAME = "Phi4Multimodal"
_projection = partial(Linear, component=Component.PROJECTOR)


def sound_layer(c: ModelConfig, h: Dim) -> Module:
    heads = c.dim("num_attention_heads", default=16)
    norm = LayerNorm(h)
    width = heads * c.dim("head_dim", default=h // heads)
    inner = c.dim("intermediate_size", default=1536)
    forward = Module(
        f"{_NAME}AudioMLP",
        layer_norm=norm,
        gate_up_proj=Linear(h, inner * 2, kind="gate_up"),
        down_proj=Linear(inner, h, kind="down"),
        component=Component.MLP,
    )
    outer = c.dim("ext_pw_out_channel", default=1024)
    kernel = c.dim("kernel_size", default=3)
    middle = h * c.dim("depthwise_multiplier", default=1)
    separable = c.dim("depthwise_separable_out_channel", default=1024)
    bias = Weight(1, outer, 1)
    pointwise = Conv(h, outer * 2, 1, dims=1)
    glu = f"{_NAME}AudioGluPointWiseConv"
    convolution = Module(
        f"{_NAME}AudioConvModule",
        layer_norm=norm,
        glu=Module(glu, ext_pw_conv_1d=pointwise, b1=bias, b2=bias),
        dw_sep_conv_1d=Module(
            f"{_NAME}AudioDepthWiseSeparableConv1d",
            dw_conv=Conv(h, middle, kernel, dims=1, groups=h),
            pw_conv=Conv(middle, separable, 1, dims=1),
        ),
        ext_pw_conv_1d=Conv(h, outer, 1, dims=1),
        component=Component.CONV,
    )
    return Module(
        f"{_NAME}AudioConformerEncoderLayer",
        feed_forward_in=forward,
        self_attn=narrowed_attention(f"{_NAME}AudioAttention", h, width),
        conv=convolution,
        feed_forward_out=forward,
        layer_norm_att=norm,
        layer_norm=norm,
    )


def audio_model(c: ModelConfig, layer: Callable[..., Module] = sound_layer) -> Module:
    """Convolutions halve time and frequency log2(time_reduction) times before the layers."""
    h = c.dim("hidden_size", default=1024)
    bins = c.dim("input_size", default=80)
    channels = c.dim("nemo_conv_channels", default=1024)
    times = int(math.log2(c.dim("time_reduction", default=8)))
    halved = -(-int(bins) // 2**times)
    usual = named(halved, "nemo_final_size", "input_size halved log2(time_reduction) times")
    left = c.dim("nemo_final_size", default=usual)
    far = c.dim("bias_max_distance", default=1000)
    both = c.flag("bias_symmetric", default=False)
    heads = c.dim("num_attention_heads", default=16)
    kind = "relative_position"
    mean = dict.fromkeys(("global_mean", "global_invstd"), Buffer(bins))
    norm = Component.NORM
    table = Embedding(far if both else far * 2, heads, component=Component.ATTENTION, kind=kind)
    relative = Module(f"{_NAME}AudioRelativeAttentionBias", bias_values=table)
    return Module(
        f"{_NAME}AudioModel",
        encoder_embedding=Module(f"{_NAME}AudioMeanVarianceNormLayer", mean, component=norm),
        embed=Module(
            f"{_NAME}AudioNemoConvSubsampling",
            conv=subsampling(channels, 3, times, class_name="Sequential"),
            out=Linear(channels * left, h, component=Component.EMBEDDING),
            component=Component.CONV,
        ),
        relative_attention_bias_layer=relative,
        encoders=Layers.of(c.count("num_blocks", default=24), layer(c, h)),
    )


def _towers(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    h = d.width(c)
    vision = c.section("vision_config")
    audio = c.section("audio_config")
    width = vision.dim("hidden_size", default=1152)
    inputs = audio.dim("hidden_size", default=1024) * audio.dim("downsample_rate", default=1)
    sound = {"encoder": audio_model(audio)}
    for kind in ("speech", "vision_speech"):
        sound[f"up_proj_for_{kind}"] = _projection(inputs, h)
        sound[f"down_proj_for_{kind}"] = _projection(h, h)
    image = Module(
        f"{_NAME}ImageEmbedding",
        img_processor=builder(f"{_NAME}VisionModel")(vision),
        img_projection_up=_projection(width, h),
        img_projection_down=_projection(h, h),
        global_img_feature_extensor=Weight(1, 1, width, component=Component.EMBEDDING),
        sub_img_feature_extensor=Weight(1, 1, 1, width, component=Component.EMBEDDING),
        part="vision",
    )
    heard = Module(f"{_NAME}AudioEmbedding", sound, part="audio")
    both = Module(f"{_NAME}FeatureEmbedding", image_embed=image, audio_embed=heard)
    return {"embed_tokens_extend": both}


PHI3.like(_NAME, rotary=False, windows=None, tasks=(), further=_towers).register(
    "phi4_multimodal", category="multimodal"
)
register_part("phi4_multimodal_audio", f"{_NAME}AudioModel", audio_model, "audio")
