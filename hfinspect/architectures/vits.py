"""VITS (Kim et al. 2021), MMS text-to-speech. Source: transformers/models/vits/modeling_vits.py.

A text encoder with relative positions, a flow of WaveNets between text and sound, a predictor of
durations, and HiFi-GAN (Kong et al. 2020) that makes the waveform.  The posterior encoder serves
training only, but the file holds it.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import with_defaults
from ..layers.encoders import hidden
from ..layers.sound import HIFIGAN, hifigan
from ..layers.speech import weight_normed
from ..layers.vision import clip_attention
from ..trees.catalog import register
from ..trees.modules import (
    Conv,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Module,
    ModuleList,
    Weight,
)  # fmt: skip

_DEFAULTS = {
    **HIFIGAN,
    "vocab_size": 38, "hidden_size": 192, "num_hidden_layers": 6, "num_attention_heads": 2,
    "window_size": 4, "ffn_dim": 768, "ffn_kernel_size": 3, "flow_size": 192,
    "spectrogram_bins": 513, "num_speakers": 1, "speaker_embedding_size": 0,
    "depth_separable_channels": 2, "depth_separable_num_layers": 3,
    "duration_predictor_flow_bins": 10, "duration_predictor_kernel_size": 3,
    "duration_predictor_num_flows": 4,
    "duration_predictor_filter_channels": 256, "prior_encoder_num_flows": 4,
    "prior_encoder_num_wavenet_layers": 4, "posterior_encoder_num_wavenet_layers": 16,
    "wavenet_kernel_size": 5,
}  # fmt: skip


def _speaker(c: ModelConfig) -> Dim | None:
    """Width of a speaker's vector; None where the model knows one speaker."""
    size = c.dim("speaker_embedding_size", minimum=0)
    return size or None


def _conv(inputs: int, outputs: int, kernel: int = 1, *, bias: bool = True) -> Module:
    return Conv(inputs, outputs, kernel, dims=1, bias=bias)


def _normed(inputs: int, outputs: int, kernel: int = 1) -> Module:
    return weight_normed(_conv(inputs, outputs, kernel), (outputs, 1, 1))


def _norm(c: ModelConfig, size: Dim) -> Module:
    return LayerNorm(size, eps=c.number("layer_norm_eps", default=1e-5))


# ---- text


def attention(c: ModelConfig) -> Module:
    h, heads = hidden(c), c.dim("num_attention_heads")
    bias, window = c.flag("use_bias", default=True), c.dim("window_size", minimum=0)
    size = c.divided(h, heads, "hidden_size", "num_attention_heads")
    block = clip_attention("VitsAttention", h, bias=bias)
    if window:
        table = Weight(1, window * 2 + 1, size, kind="relative_position")
        block.children = {"emb_rel_k": table, "emb_rel_v": table, **block.children}
    return block


def text_encoder(c: ModelConfig) -> Module:
    h, inner, kernel = hidden(c), c.dim("ffn_dim"), c.dim("ffn_kernel_size")
    forward = {
        "conv_1": Conv(h, inner, kernel, dims=1, component=Component.MLP, kind="up"),
        "conv_2": Conv(inner, h, kernel, dims=1, component=Component.MLP, kind="down"),
    }
    block = Module(
        "VitsEncoderLayer",
        attention=attention(c),
        dropout=Dropout(c.number("hidden_dropout", default=0.1)),
        layer_norm=_norm(c, h),
        feed_forward=Module("VitsFeedForward", forward, component=Component.MLP),
        final_layer_norm=_norm(c, h),
    )
    layers = Layers.of(c.count("num_hidden_layers"), block)
    return Module(
        "VitsTextEncoder",
        embed_tokens=Embedding(c.dim("vocab_size"), h),
        encoder=Module("VitsEncoder", layers=layers),
        project=_conv(h, c.dim("flow_size") * 2),
    )


# ---- flow


def wavenet(c: ModelConfig, count: Dim) -> Module:
    """Gated convolutions; each but the last also feeds the next."""
    h, speaker = hidden(c), _speaker(c)
    inner = _normed(h, 2 * h, c.dim("wavenet_kernel_size"))
    skips = [_normed(h, 2 * h)] * (int(count) - 1) + [_normed(h, h)]
    return Module(
        "VitsWaveNet",
        in_layers=ModuleList([inner] * int(count)),
        res_skip_layers=ModuleList(skips if count else []),
        cond_layer=_normed(speaker, 2 * h * count) if speaker else None,
        component=Component.CONV,
    )


def flow(c: ModelConfig) -> Module:
    half, h = c.dim("flow_size") // 2, hidden(c)
    layer = Module(
        "VitsResidualCouplingLayer",
        conv_pre=_conv(half, h),
        wavenet=wavenet(c, c.count("prior_encoder_num_wavenet_layers")),
        conv_post=_conv(h, half),
    )
    flows = ModuleList([layer] * int(c.count("prior_encoder_num_flows")))
    return Module("VitsResidualCouplingBlock", flows=flows, part="audio")


def posterior_encoder(c: ModelConfig) -> Module:
    h = hidden(c)
    return Module(
        "VitsPosteriorEncoder",
        conv_pre=_conv(c.dim("spectrogram_bins"), h),
        wavenet=wavenet(c, c.count("posterior_encoder_num_wavenet_layers")),
        conv_proj=_conv(h, c.dim("flow_size") * 2),
        part="audio",
    )


# ---- durations


def _separable(c: ModelConfig) -> Module:
    h, count = hidden(c), int(c.count("depth_separable_num_layers"))
    dilated = Conv(h, h, c.dim("duration_predictor_kernel_size"), dims=1, groups=h)
    step = {
        "convs_dilated": dilated, "convs_pointwise": _conv(h, h), "norms_1": LayerNorm(h),
        "norms_2": LayerNorm(h),
    }  # fmt: skip
    steps = {name: ModuleList([part] * count) for name, part in step.items()}
    return Module("VitsDilatedDepthSeparableConv", {"dropout": Dropout(0.0), **steps})


def _duration_flows(c: ModelConfig) -> Module:
    h, channels = hidden(c), c.dim("depth_separable_channels")
    half, bins = channels // 2, c.dim("duration_predictor_flow_bins")
    scale = Weight(channels, 1, component=Component.OTHER)
    affine = Module("VitsElementwiseAffine", translate=scale, log_scale=scale)
    ends = {"conv_pre": _conv(half, h), "conv_proj": _conv(h, half * (bins * 3 - 1))}
    step = Module("VitsConvFlow", {**ends, "conv_dds": _separable(c)})
    return ModuleList([affine, *[step] * int(c.count("duration_predictor_num_flows"))])


def stochastic_durations(c: ModelConfig) -> Module:
    h, speaker = hidden(c), _speaker(c)
    either = {
        "conv_pre": _conv(h, h), "conv_proj": _conv(h, h), "conv_dds": _separable(c),
        "flows": _duration_flows(c),
    }  # fmt: skip
    behind = {f"post_{name}": part for name, part in {**either, "conv_pre": _conv(1, h)}.items()}
    return Module(
        "VitsStochasticDurationPredictor",
        {**either, "cond": _conv(speaker, h) if speaker else None, **behind},
        component=Component.CONV,
        part="audio",
    )


def plain_durations(c: ModelConfig) -> Module:
    h, inner = hidden(c), c.dim("duration_predictor_filter_channels")
    kernel, speaker = c.dim("duration_predictor_kernel_size"), _speaker(c)
    return Module(
        "VitsDurationPredictor",
        dropout=Dropout(0.5),
        conv_1=_conv(h, inner, kernel),
        norm_1=_norm(c, inner),
        conv_2=_conv(inner, inner, kernel),
        norm_2=_norm(c, inner),
        proj=_conv(inner, 1),
        cond=_conv(speaker, h) if speaker else None,
        component=Component.CONV,
        part="audio",
    )


def model(c: ModelConfig) -> Module:
    stochastic = c.flag("use_stochastic_duration_prediction", default=True)
    speakers = c.dim("num_speakers")
    return Module(
        "VitsModel",
        text_encoder=text_encoder(c),
        flow=flow(c),
        decoder=hifigan(c, "VitsHifiGan", c.dim("flow_size"), bias=False, voice=_speaker(c)),
        duration_predictor=stochastic_durations(c) if stochastic else plain_durations(c),
        embed_speaker=Embedding(speakers, c.dim("speaker_embedding_size"), kind="segment")
        if speakers > 1
        else None,
        posterior_encoder=posterior_encoder(c),
    )


_CLASSES = with_defaults(_DEFAULTS, {"VitsModel": model})
register("vits", _CLASSES, base_prefix="vits", category="audio")
