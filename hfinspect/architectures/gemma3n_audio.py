"""Gemma 3n's audio encoder: the Universal Speech Model (Zhang et al. 2023), a conformer.

Source of shapes: transformers/models/gemma3n/modeling_gemma3n.py.
"""

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from ..trees.catalog import register
from ..trees.modules import Activation, Conv, Layers, Linear, Module, RMSNorm, Weight


def _width(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=1536)


def _plain_norm(c: ModelConfig) -> Module:
    return RMSNorm(_width(c), class_name="Gemma3nRMSNorm")


def _pairs(c: ModelConfig, key: str, default: int) -> list[tuple[Dim, Dim]]:
    """Two pairs (time, frequency)."""
    rows = c.raw(key) or [[default, default]] * 2
    if not isinstance(rows, (list, tuple)) or len(rows) != 2:
        raise c.error(key, rows, "two pairs")
    pairs = [ModelConfig({f"{key}[{i}]": row}, c.path) for i, row in enumerate(rows)]
    out = []
    for i, pair in enumerate(pairs):
        sizes = pair.dims(f"{key}[{i}]")
        if len(sizes) != 2:
            raise c.error(f"{key}[{i}]", rows[i], "a pair")
        out.append((sizes[0], sizes[1]))
    return out


def subsampling(c: ModelConfig) -> Module:
    """Two strided convolutions over the spectrogram, flattened and projected."""
    channels = c.dims("sscp_conv_channel_size", default=(128, 32))
    if len(channels) != 2:
        raise c.error("sscp_conv_channel_size", c.raw("sscp_conv_channel_size"), "two sizes")
    kernels = _pairs(c, "sscp_conv_kernel_size", 3)
    strides = _pairs(c, "sscp_conv_stride_size", 2)
    blocks: dict[str, Module] = {}
    frequencies, incoming = c.dim("input_feat_size", default=128), exact(1)
    for i, (outgoing, kernel, stride) in enumerate(zip(channels, kernels, strides, strict=True)):
        # One frequency of padding on either side.
        frequencies = (frequencies + 2 - kernel[1]) // stride[1] + 1
        blocks[f"conv_{i}"] = Module(
            "Gemma3nAudioSSCPConvBlock",
            conv=Conv(incoming, outgoing, kernel, bias=False, stride=stride),
            norm=Module(
                "Gemma3nAudioCumulativeGroupNorm",
                weight=Weight(outgoing),
                component=Component.NORM,
            ),
            activation=Activation("ReLU"),
        )
        incoming = outgoing
    if frequencies < 1:
        raise c.error("input_feat_size", c.raw("input_feat_size"), "enough for the convolutions")
    blocks["input_proj_linear"] = Linear(channels[1] * frequencies, _width(c), bias=False)
    return Module("Gemma3nAudioSubSampleConvProjection", dict(blocks), component=Component.CONV)


def audio_attention(c: ModelConfig) -> Module:
    h, heads = _width(c), c.dim("conf_num_attention_heads", default=8)
    width = heads * (h // heads)
    return Module(
        "Gemma3nAudioConformerAttention",
        pre_attn_norm=_plain_norm(c),
        attn=Module(
            "Gemma3nAudioAttention",
            per_dim_scale=Weight(h // heads, kind="scale"),
            relative_position_embedding=Module(
                "Gemma3nAudioRelativePositionEmbedding",
                pos_proj=Linear(h, width, bias=False, kind="relative_position"),
            ),
            q_proj=Linear(h, width, bias=False, kind="query"),
            k_proj=Linear(h, width, bias=False, kind="key"),
            v_proj=Linear(h, width, bias=False, kind="value"),
        ),
        post=Linear(h, h, bias=False, kind="output"),
        post_norm=_plain_norm(c),
        component=Component.ATTENTION,
    )


def audio_feed_forward(c: ModelConfig) -> Module:
    h = _width(c)
    return Module(
        "Gemma3nAudioConformerFeedForward",
        pre_layer_norm=_plain_norm(c),
        ffw_layer_1=Linear(h, h * 4, bias=False, kind="up"),
        ffw_layer_2=Linear(h * 4, h, bias=False, kind="down"),
        post_layer_norm=_plain_norm(c),
        component=Component.MLP,
    )


def light_convolution(c: ModelConfig) -> Module:
    h = _width(c)
    kernel = c.dim("conf_conv_kernel_size", default=5)
    return Module(
        "Gemma3nAudioConformerLightConv1d",
        pre_layer_norm=_plain_norm(c),
        linear_start=Linear(h, h * 2, bias=False),
        depthwise_conv1d=Conv(h, h, kernel, dims=1, groups=h, bias=False),
        conv_norm=_plain_norm(c),
        linear_end=Linear(h, h, bias=False),
        component=Component.CONV,
    )


def audio_model(c: ModelConfig) -> Module:
    block = Module(
        "Gemma3nAudioConformerBlock",
        ffw_layer_start=audio_feed_forward(c),
        attention=audio_attention(c),
        lconv1d=light_convolution(c),
        ffw_layer_end=audio_feed_forward(c),
        norm=_plain_norm(c),
    )
    return Module(
        "Gemma3nAudioEncoder",
        subsample_conv_projection=subsampling(c),
        conformer=Layers.of(c.count("conf_num_hidden_layers", default=12), block),
        part="audio",
    )


register("gemma3n_audio", {"Gemma3nAudioEncoder": audio_model}, category="audio")
