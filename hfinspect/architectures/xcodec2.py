"""X-Codec 2 (Ye et al. 2025) and NeuCodec (Neuphonic 2025): Descript's encoder (dac.py) for the
sound, Wav2Vec2-BERT for what it means, numbers rounded to a few levels in place of codebooks.
Source of shapes: transformers/models/{xcodec2,neucodec}."""

from ..layers.composing import defaulted, renamed
from ..layers.decoders import Decoder, plain
from ..layers.sound import hop
from ..trees import Component, Dim, ModelConfig, auto_model, config_defaults, register_part
from ..trees import modules as nn
from . import dac

_LAYERS = Decoder("Xcodec2", **config_defaults("xcodec2"), mlp=plain)
_DEFAULTS = {"hidden_size": 1024, "encoder_hidden_size": 48, "downsampling_ratios": (2, 2, 4, 4, 5)}


def _snake(width: Dim) -> nn.Module:
    slope = nn.Weight(width)
    to = Component.OTHER
    return nn.Module(
        "Xcodec2AntiAliasedActivation1d",
        act=nn.Module("Xcodec2SnakeBeta", alpha=slope, beta=slope, component=to),
        upsample=nn.Activation("Xcodec2UpSample1d"),
        downsample=nn.Activation("Xcodec2DownSample1d"),
    )


def model(c: ModelConfig, samples: int | None = None) -> nn.Module:
    """``samples`` of sound that each frame becomes, of which four times as many are transformed."""
    usual = {"num_hidden_layers": 16}
    kind = "wav2vec2-bert"
    to = Component.CONV
    meant = c.section("semantic_model_config", default=usual).of_type(kind)
    h = c.dim("hidden_size")
    states = meant.dim("hidden_size", default=1024)
    plain, biased = (nn.Conv(states, states, 3, dims=1, bias=bias) for bias in (False, True))
    convs = {"conv1": plain, "conv2": biased, "conv3": biased, "conv4": plain}
    norm = nn.GroupNorm(32, h, eps=1e-6)
    act = nn.Activation("SiLU")
    conv = nn.Conv(h, h, 3, dims=1)
    parts = {"norm": norm, "activation": act, "conv": conv}
    relu = nn.Activation("ReLU")
    twice = {f"{name}{i}": part for i in (1, 2) for name, part in parts.items()}
    residuals = nn.ModuleList([nn.Module("Xcodec2ResNetBlock", twice)] * 2, component=to)
    bins = Dim(4 * (hop(c) if samples is None else samples) + 2)
    decoder = nn.Module(
        "Xcodec2Decoder",
        fc=nn.Linear(h + states, h, component=Component.PROJECTOR),
        embed=nn.Conv(h, h, 7, dims=1, component=Component.EMBEDDING),
        prior_net=residuals,
        rotary_emb=nn.Activation("Xcodec2RotaryEmbedding"),
        layers=_LAYERS.layers(c),
        post_net=residuals,
        norm=nn.LayerNorm(h, eps=1e-6),
        head=nn.Module("Xcodec2ISTFTHead", linear=nn.Linear(h, bins), component=Component.HEAD),
    )
    width = c.dim("quantization_dim", default=2048)
    levels = len(c.dims("quantization_levels", default=(4,) * 8))
    adapter = nn.Module("Xcodec2SemanticAdapter", convs, act1=relu, act2=relu, component=to)
    rounds = nn.Activation("Xcodec2FiniteScalarQuantization")
    at = Component.EMBEDDING
    ends = {"project_in": nn.Linear(width, levels), "project_out": nn.Linear(levels, width)}
    return nn.Module(
        "Xcodec2Model",
        semantic_encoder=auto_model(meant, default_type=kind),
        semantic_adapter=adapter,
        acoustic_encoder=dac.encoder(c, name="Xcodec2", snake=_snake),
        fc_encoder=nn.Linear(h + states, h + states, component=Component.PROJECTOR),
        quantizer=nn.Module("Xcodec2Quantizer", {"quantizer": rounds, **ends}, component=at),
        acoustic_decoder=decoder,
        part="audio",
    )


def _resampled(c: ModelConfig) -> nn.Module:
    """NeuCodec's sound has another rate than what it listens to."""
    input_rate = c.dim("input_sampling_rate", default=16000)
    output_rate = c.dim("output_sampling_rate", default=24000)
    return renamed(
        model(c, int(hop(c) * int(output_rate) / int(input_rate))), "Xcodec2", "NeuCodec"
    )


register_part("xcodec2", "Xcodec2Model", defaulted(_DEFAULTS, model), "audio")
register_part("neucodec", "NeuCodecModel", defaulted(_DEFAULTS, _resampled), "audio")
