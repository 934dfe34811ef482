"""Gemma 4 with vision and audio. Source: transformers/models/gemma4/modeling_gemma4.py.

The towers are optional: a null section means that the model has none. Their linears may clip input
and output to four recorded bounds (``use_clipped_linears``), which are buffers.
"""

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from ..layers.blocks import activation, size
from ..layers.multimodal import register_worded
from ..trees.catalog import auto_model, register
from ..trees.modules import (
    Activation,
    Buffer,
    Conv,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Weight,
)
from .gemma4_text import hidden as text_hidden
from .gemma4_text import norm, text_model


def clippable(c: ModelConfig, inputs: int, outputs: int, *, default: bool, kind: str) -> Module:
    """A linear without bias, and its four bounds where the section clips."""
    bounds = ("input_min", "input_max", "output_min", "output_max")
    clips = c.flag("use_clipped_linears", default=default)
    return Module(
        "Gemma4ClippableLinear",
        {
            "linear": Linear(inputs, outputs, bias=False),
            **({name: Buffer() for name in bounds} if clips else {}),
        },
        kind=kind or None,
    )


# ---- vision


def vision_layer(c: ModelConfig, h: Dim) -> Module:
    query = c.dim("num_attention_heads", default=12)
    kv = c.dim("num_key_value_heads", default=12)
    head_dim = c.dim("head_dim", default=64)
    inner = c.dim("intermediate_size", default=3072)

    def linear(inputs: int, outputs: int, kind: str) -> Module:
        return clippable(c, inputs, outputs, default=False, kind=kind)

    return Module(
        "Gemma4VisionEncoderLayer",
        self_attn=Module(
            "Gemma4VisionAttention",
            q_proj=linear(h, query * head_dim, "query"),
            k_proj=linear(h, kv * head_dim, "key"),
            v_proj=linear(h, kv * head_dim, "value"),
            o_proj=linear(query * head_dim, h, "output"),
            q_norm=norm(c, head_dim),
            k_norm=norm(c, head_dim),
            v_norm=Activation("Gemma4RMSNorm"),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            "Gemma4VisionMLP",
            gate_proj=linear(h, inner, "gate"),
            up_proj=linear(h, inner, "up"),
            down_proj=linear(inner, h, "down"),
            act_fn=activation(c.text("hidden_activation", default="gelu_pytorch_tanh")),
            component=Component.MLP,
        ),
        input_layernorm=norm(c, h),
        post_attention_layernorm=norm(c, h),
        pre_feedforward_layernorm=norm(c, h),
        post_feedforward_layernorm=norm(c, h),
    )


def vision_model(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=768)
    patch = c.dim("patch_size", default=16)
    positions = c.dim("position_embedding_size", default=10 * 1024)
    standardize = c.flag("standardize", default=False)
    layers = Layers.of(c.count("num_hidden_layers", default=16), vision_layer(c, h))
    return Module(
        "Gemma4VisionModel",
        patch_embedder=Module(
            "Gemma4VisionPatchEmbedder",
            # One table for rows, one for columns.
            position_embedding_table=Weight(exact(2), positions, h, kind="position"),
            input_proj=Linear(3 * patch * patch, h, bias=False, kind="patch"),
            component=Component.EMBEDDING,
        ),
        encoder=Module(
            "Gemma4VisionEncoder",
            rotary_emb=Activation("Gemma4VisionRotaryEmbedding"),
            layers=layers,
        ),
        pooler=Activation("Gemma4VisionPooler"),
        std_bias=Buffer(h) if standardize else None,
        std_scale=Buffer(h) if standardize else None,
        part="vision",
    )


# ---- audio: a conformer, as in Gemma 3n


_audio_width = size("hidden_size", default=1024)


def _audio_linear(c: ModelConfig, inputs: int, outputs: int, kind: str = "") -> Module:
    return clippable(c, inputs, outputs, default=True, kind=kind)


def subsampling(c: ModelConfig) -> Module:
    """Two strided convolutions over the 128 mel bins; 32 remain."""
    channels = c.dims("subsampling_conv_channels", default=(128, 32))
    if len(channels) != 2:
        raise c.error("subsampling_conv_channels", c.raw("subsampling_conv_channels"), "two sizes")
    eps = c.number("rms_norm_eps", default=1e-6)

    def block(inputs: int, outputs: int) -> Module:
        return Module(
            "Gemma4AudioSubSampleConvProjectionLayer",
            conv=Conv(inputs, outputs, 3, bias=False, stride=2),
            norm=LayerNorm(outputs, eps=eps, bias=False),
            act=Activation("ReLU"),
        )

    return Module(
        "Gemma4AudioSubSampleConvProjection",
        layer0=block(exact(1), channels[0]),
        layer1=block(channels[0], channels[1]),
        # The number of bins left is written as a quarter of the first channels.
        input_proj_linear=Linear((channels[0] // 4) * channels[1], _audio_width(c), bias=False),
        component=Component.CONV,
    )


def audio_attention(c: ModelConfig) -> Module:
    h, heads = _audio_width(c), c.dim("num_attention_heads", default=8)
    width = heads * (h // heads)
    return Module(
        "Gemma4AudioAttention",
        per_dim_scale=Weight(h // heads, kind="scale"),
        q_proj=_audio_linear(c, h, width, "query"),
        k_proj=_audio_linear(c, h, width, "key"),
        v_proj=_audio_linear(c, h, width, "value"),
        post=_audio_linear(c, h, h, "output"),
        relative_k_proj=Linear(h, width, bias=False, kind="relative_position"),
        component=Component.ATTENTION,
    )


def audio_feed_forward(c: ModelConfig) -> Module:
    h = _audio_width(c)
    return Module(
        "Gemma4AudioFeedForward",
        ffw_layer_1=_audio_linear(c, h, h * 4, "up"),
        ffw_layer_2=_audio_linear(c, h * 4, h, "down"),
        pre_layer_norm=norm(c, h),
        post_layer_norm=norm(c, h),
        act_fn=activation(c.text("hidden_act", default="silu")),
        component=Component.MLP,
    )


def light_convolution(c: ModelConfig) -> Module:
    h = _audio_width(c)
    convolution = Conv(
        h, h, c.dim("conv_kernel_size", default=5), dims=1, groups=h, bias=False, component=None
    )
    convolution.class_name = "Gemma4AudioCausalConv1d"
    return Module(
        "Gemma4AudioLightConv1d",
        linear_start=_audio_linear(c, h, h * 2),
        linear_end=_audio_linear(c, h, h),
        depthwise_conv1d=convolution,
        pre_layer_norm=norm(c, h),
        conv_norm=norm(c, h),
        act_fn=activation(c.text("hidden_act", default="silu")),
        component=Component.CONV,
    )


def audio_model(c: ModelConfig) -> Module:
    h = _audio_width(c)
    layer = Module(
        "Gemma4AudioLayer",
        feed_forward1=audio_feed_forward(c),
        feed_forward2=audio_feed_forward(c),
        self_attn=audio_attention(c),
        lconv1d=light_convolution(c),
        norm_pre_attn=norm(c, h),
        norm_post_attn=norm(c, h),
        norm_out=norm(c, h),
    )
    return Module(
        "Gemma4AudioModel",
        subsample_conv_projection=subsampling(c),
        rel_pos_enc=Activation("Gemma4AudioRelPositionalEncoding"),
        layers=Layers.of(c.count("num_hidden_layers", default=12), layer),
        output_proj=Linear(
            h, c.dim("output_proj_dims", default=1536), component=Component.PROJECTOR
        ),
        part="audio",
    )


# ---- together


def embedder(width: Dim, text: Dim) -> Module:
    return Module(
        "Gemma4MultimodalEmbedder",
        embedding_projection=Linear(width, text, bias=False),
        embedding_pre_projection_norm=Activation("Gemma4RMSNorm"),
        component=Component.PROJECTOR,
        part="projector",
    )


def model(c: ModelConfig) -> Module:
    text = c.section("text_config")
    parts: dict[str, Module] = {}
    bridges: dict[str, Module] = {}
    if c.has("vision_config"):
        vision = c.section("vision_config")
        parts["vision_tower"] = auto_model(vision, default_type="gemma4_vision", part="vision")
        width = vision.dim("output_proj_dims", default=vision.dim("hidden_size", default=768))
        bridges["embed_vision"] = embedder(width, text_hidden(text))
    if c.has("audio_config"):
        audio = c.section("audio_config")
        parts["audio_tower"] = auto_model(audio, default_type="gemma4_audio", part="audio")
        width = audio.dim("output_proj_dims", default=1536)
        bridges["embed_audio"] = embedder(width, text_hidden(text))
    return Module("Gemma4Model", {"language_model": text_model(text), **parts, **bridges})


register("gemma4_vision", {"Gemma4VisionModel": vision_model}, category="vision", base=None)
register("gemma4_audio", {"Gemma4AudioModel": audio_model}, category="audio", base=None)
register_worded("gemma4", "Gemma4", model, tied=True)
