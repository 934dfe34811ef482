"""FastSpeech 2 with Conformer layers (Guo et al. 2020). Source of shapes:
transformers/models/fastspeech2_conformer.

From letters to mel frames without a loop: an encoder, predictors of each letter's length, pitch and
energy, a decoder; the vocoder (HiFi-GAN) is a model of its own or stands next to it.
"""

from functools import partial

from ..core.components import Component
from ..core.config import MAX_COUNT, ModelConfig
from ..core.dims import Dim
from ..layers import conformers
from ..layers.composing import defaulted
from ..trees.catalog import register_part
from ..trees.modules import (
    Activation,
    BatchNorm,
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
)
from .speecht5 import polishing, vocoder

_NAME = "FastSpeech2Conformer"
_DEFAULTS = {
    "hidden_size": 384, "encoder_num_attention_heads": 2, "encoder_layers": 4,
    "encoder_linear_units": 1536, "encoder_kernel_size": 7, "decoder_num_attention_heads": 2,
    "decoder_layers": 4, "decoder_linear_units": 1536, "decoder_kernel_size": 31,
    "reduction_factor": 1, "duration_predictor_layers": 2, "duration_predictor_kernel_size": 3,
    "energy_predictor_layers": 2, "energy_predictor_kernel_size": 3, "pitch_predictor_layers": 5,
    "pitch_predictor_kernel_size": 5,
}  # fmt: skip


def _side(c: ModelConfig, side: str, key: str) -> Dim:
    """A size of one side: saved configs repeat them in a section, which then counts."""
    return c.section(f"{side}_config").dim(key, default=c.fields.dim(f"{side}_{key}"))


def _stack(c: ModelConfig, side: str) -> Module:
    h, kernel = c.dim("hidden_size"), c.dim("positionwise_conv_kernel_size", default=3)
    keys = ("linear_units", "num_attention_heads", "kernel_size", "layers")
    inner, heads, depthwise, count = (_side(c, side, key) for key in keys)
    norm, bias = LayerNorm(h), c.flag("convolution_bias", default=True)
    forward = Module(
        f"{_NAME}MultiLayeredConv1d",
        conv1=Conv(h, inner, kernel, dims=1, component=None, kind="up"),
        conv2=Conv(inner, h, kernel, dims=1, component=None, kind="down"),
        component=Component.MLP,
    )
    between = conformers.convolution(
        f"{_NAME}ConvolutionModule", h, depthwise, BatchNorm(h, dims=1), act="silu", bias=bias
    )
    macaron = c.flag("use_macaron_style_in_conformer", default=True)
    convolves = c.flag("use_cnn_in_conformer", default=True)
    joined = c.section(f"{side}_config").flag(
        "concat_after", default=c.flag(f"{side}_concat_after", default=False)
    )
    layer = Module(
        f"{_NAME}EncoderLayer",
        self_attn=conformers.relative_attention(f"{_NAME}Attention", h, heads, h // heads),
        feed_forward=forward,
        feed_forward_macaron=forward if macaron else None,
        ff_macaron_layer_norm=norm if macaron else None,
        conv_module=between if convolves else None,
        conv_layer_norm=norm if convolves else None,
        final_layer_norm=norm if convolves else None,
        ff_layer_norm=norm,
        self_attn_layer_norm=norm,
        concat_linear=Linear(h + h, h) if joined else None,
    )
    table = Embedding(c.dim("vocab_size", default=78), h, padding_idx=0)
    if int(count) > MAX_COUNT:
        raise c.error(f"{side}_layers", int(count), f"at most {MAX_COUNT:,}")
    return Module(
        f"{_NAME}Encoder",
        embed=table if side == "encoder" else None,
        pos_enc=Activation(f"{_NAME}RelPositionalEncoding"),
        conformer_layers=Layers.of(count, layer),
    )


def _predictor(c: ModelConfig, what: str, name: str = "Variance") -> Module:
    width = c.dim(f"{what}_predictor_channels", default=256)
    kernel = c.dim(f"{what}_predictor_kernel_size")
    count = int(c.count(f"{what}_predictor_layers"))
    steps = [
        Module(
            f"{_NAME}PredictorLayer",
            conv=Conv(inputs, width, kernel, dims=1),
            activation=Activation("ReLU"),
            layer_norm=LayerNorm(width),
        )
        for inputs in [c.dim("hidden_size"), *[width] * count][:count]
    ]
    parts = {
        "conv_layers": ModuleList(steps),
        "linear": Linear(width, 1, component=Component.OTHER),
    }
    return Module(f"{_NAME}{name}Predictor", parts, component=Component.CONV)


def model(c: ModelConfig) -> Module:
    h = c.dim("hidden_size")
    keys = ("num_languages", "num_speakers", "speaker_embed_dim")
    variances = {}
    for what in ("pitch", "energy"):
        conv = Conv(1, h, c.dim(f"{what}_embed_kernel_size", default=1), dims=1)
        variances[f"{what}_predictor"] = _predictor(c, what)
        variances[f"{what}_embed"] = Module(f"{_NAME}VarianceEmbedding", conv=conv)
    languages, speakers, voice = (c.dim(key, default=0, minimum=0) for key in keys)
    parts = {
        "language_id_embedding": Embedding(languages, h, kind="segment") if languages > 1 else None,
        "speaker_id_embedding": Embedding(speakers, h, kind="segment") if speakers > 1 else None,
        "projection": Linear(h + voice, h, component=Component.PROJECTOR) if voice else None,
        "encoder": _stack(c, "encoder"),
        "duration_predictor": _predictor(c, "duration", "Duration"),
        **variances,
        "decoder": _stack(c, "decoder"),
        "speech_decoder_postnet": polishing(_NAME, c, h),
    }
    return Module(f"{_NAME}Model", parts, part="audio")


hifigan = partial(vocoder, name=_NAME)


def both(c: ModelConfig) -> Module:
    spectrum = model(c.section("model_config").with_defaults(**_DEFAULTS))
    vocoding = hifigan(c.section("vocoder_config"))
    return Module(f"{_NAME}WithHifiGan", model=spectrum, vocoder=vocoding)


register_part("fastspeech2_conformer", f"{_NAME}Model", defaulted(_DEFAULTS, model), "audio")
register_part("fastspeech2_conformer_hifigan", f"{_NAME}HifiGan", hifigan, "audio")
register_part("fastspeech2_conformer_with_hifigan", f"{_NAME}WithHifiGan", both, "audio")
