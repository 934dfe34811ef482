"""FastSpeech 2 with Conformer layers (Guo et al. 2020): letters to mel frames without a loop; the
vocoder is a model apart or next to it (transformers/models/fastspeech2_conformer)."""

from functools import partial

from ..core.config import MAX_COUNT
from ..layers import conformers
from ..layers.composing import defaulted
from ..layers.multimodal import within
from ..trees import Component, ModelConfig
from ..trees import modules as nn
from ..trees.catalog import register_part
from .speecht5 import polishing, vocoder

_NAME = "FastSpeech2Conformer"
_DEFAULTS = {"hidden_size": 384, "reduction_factor": 1}
#: Of a side; the decoder's kernel is wider.
_SIDE = {"linear_units": 1536, "num_attention_heads": 2, "kernel_size": 7, "layers": 4}


def _stack(c: ModelConfig, side: str) -> nn.Module:
    """Sizes of a side are repeated in a section of saved configs, which then counts."""
    h = c.dim("hidden_size")
    section = c.section(f"{side}_config")
    usual = _SIDE if side == "encoder" else {**_SIDE, "kernel_size": 31}
    inner, heads, depthwise, count = (
        section.dim(key, default=c.fields.dim(f"{side}_{key}", default=usual[key])) for key in usual
    )
    if int(count) > MAX_COUNT:
        raise c.error(f"{side}_layers", int(count), f"at most {MAX_COUNT:,}")
    norm = nn.LayerNorm(h)
    kernel = c.dim("positionwise_conv_kernel_size", default=3)
    conv = partial(nn.Conv, kernel=kernel, dims=1, component=None)
    name = "MultiLayeredConv1d"
    up = conv(h, inner, kind="up")
    down = conv(inner, h, kind="down")
    forward = nn.Module(f"{_NAME}{name}", conv1=up, conv2=down, component=Component.MLP)
    between = conformers.convolution(
        f"{_NAME}ConvolutionModule",
        h,
        depthwise,
        nn.BatchNorm(h, dims=1),
        act="silu",
        bias=c.flag("convolution_bias", default=True),
    )
    macaron = c.flag("use_macaron_style_in_conformer", default=True)
    convolves = c.flag("use_cnn_in_conformer", default=True)
    joined = section.flag("concat_after", default=c.flag(f"{side}_concat_after", default=False))
    layer = nn.Module(
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
        concat_linear=nn.Linear(h + h, h) if joined else None,
    )
    table = nn.Embedding(c.dim("vocab_size", default=78), h, padding_idx=0)
    return nn.Module(
        f"{_NAME}Encoder",
        embed=table if side == "encoder" else None,
        pos_enc=nn.Activation(f"{_NAME}RelPositionalEncoding"),
        conformer_layers=nn.Layers.of(count, layer),
    )


def _predictor(c: ModelConfig, what: str, layers: int = 2, kernel: int = 3) -> nn.Module:
    """The numbers are defaults."""
    width = c.dim(f"{what}_predictor_channels", default=256)
    at = f"{what}_predictor_layers"
    size = c.dim(f"{what}_predictor_kernel_size", default=kernel)
    count = int(c.count(at, default=layers))
    name = "Duration" if what == "duration" else "Variance"
    steps = nn.ModuleList(
        nn.Module(
            f"{_NAME}PredictorLayer",
            conv=nn.Conv(inputs, width, size, dims=1),
            activation=nn.Activation("ReLU"),
            layer_norm=nn.LayerNorm(width),
        )
        for inputs in [c.dim("hidden_size"), *[width] * count][:count]
    )
    last = nn.Linear(width, 1, component=Component.OTHER)
    to = Component.CONV
    return nn.Module(f"{_NAME}{name}Predictor", conv_layers=steps, linear=last, component=to)


def model(c: ModelConfig) -> nn.Module:
    h = c.dim("hidden_size")
    variances = dict[str, nn.Module]()
    for what, *numbers in (("pitch", 5, 5), ("energy", 2, 3)):
        conv = nn.Conv(1, h, c.dim(f"{what}_embed_kernel_size", default=1), dims=1)
        variances[f"{what}_predictor"] = _predictor(c, what, *numbers)
        variances[f"{what}_embed"] = nn.Module(f"{_NAME}VarianceEmbedding", conv=conv)
    keys = ("num_languages", "num_speakers", "speaker_embed_dim")
    *tables, voice = (c.dim(key, default=0, minimum=0) for key in keys)
    tables_of = [nn.Embedding(count, h, kind="segment") if count > 1 else None for count in tables]
    parts = {
        **dict(zip(("language_id_embedding", "speaker_id_embedding"), tables_of, strict=True)),
        "projection": nn.Linear(h + voice, h, component=Component.PROJECTOR) if voice else None,
        "encoder": _stack(c, "encoder"),
        "duration_predictor": _predictor(c, "duration"),
        **variances,
        "decoder": _stack(c, "decoder"),
        "speech_decoder_postnet": polishing(c, _NAME),
    }
    return nn.Module(f"{_NAME}Model", parts, part="audio")


_WHOLE = defaulted(_DEFAULTS, model)
_VOCODER = partial(vocoder, name=_NAME)
_BOTH = {"model": within("model_config", _WHOLE), "vocoder": within("vocoder_config", _VOCODER)}
register_part("fastspeech2_conformer", f"{_NAME}Model", _WHOLE, "audio")
register_part("fastspeech2_conformer_hifigan", f"{_NAME}HifiGan", _VOCODER, "audio")
register_part("fastspeech2_conformer_with_hifigan", f"{_NAME}WithHifiGan", _BOTH, "audio")
