"""X-Codec 2 (Ye et al. 2025), NeuCodec (Neuphonic 2025). Source: transformers/models/xcodec2 and
transformers/models/neucodec.

Descript's encoder (dac.py) for the sound, Wav2Vec2-BERT for what it means, numbers rounded to a few
levels in place of codebooks, and a transformer that makes the spectrum of the sound.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import defaulted, renamed
from ..layers.decoders import Decoder, plain
from ..layers.sound import hop
from ..trees.catalog import auto_model, register_part
from ..trees.modules import (
    Activation,
    Conv,
    GroupNorm,
    LayerNorm,
    Linear,
    Module,
    ModuleList,
    Weight,
)
from . import dac

_LAYERS = Decoder(
    "Xcodec2", hidden_size=1024, intermediate_size=4096, num_hidden_layers=12,
    num_attention_heads=16, num_key_value_heads=16, head_dim=64, mlp=plain,
)  # fmt: skip
_DEFAULTS = {
    "hidden_size": 1024, "encoder_hidden_size": 48, "downsampling_ratios": (2, 2, 4, 4, 5),
    "quantization_dim": 2048, "quantization_levels": (4,) * 8,
}  # fmt: skip


def _snake(width: Dim) -> Module:
    slopes, to = dict.fromkeys(("alpha", "beta"), Weight(width)), Component.OTHER
    return Module(
        "Xcodec2AntiAliasedActivation1d",
        act=Module("Xcodec2SnakeBeta", {**slopes}, component=to),
        upsample=Activation("Xcodec2UpSample1d"),
        downsample=Activation("Xcodec2DownSample1d"),
    )


def model(c: ModelConfig, samples: int | None = None) -> Module:
    """``samples`` of sound that each frame becomes, of which four times as many are transformed."""
    meant = c.section("semantic_model_config", default={"num_hidden_layers": 16}).of_type(
        "wav2vec2-bert"
    )
    h, seen = c.dim("hidden_size"), meant.dim("hidden_size", default=1024)
    biased, act = {"conv1": False, "conv2": True, "conv3": True, "conv4": False}, Activation("ReLU")
    convs = {name: Conv(seen, seen, 3, dims=1, bias=bias) for name, bias in biased.items()}
    bins = Dim(4 * (hop(c) if samples is None else samples) + 2)
    parts = {
        "norm": GroupNorm(32, h, eps=1e-6), "activation": Activation("SiLU"),
        "conv": Conv(h, h, 3, dims=1),
    }  # fmt: skip
    twice = {f"{name}{i}": part for i in (1, 2) for name, part in parts.items()}
    residuals = ModuleList([Module("Xcodec2ResNetBlock", twice)] * 2, component=Component.CONV)
    decoder = Module(
        "Xcodec2Decoder",
        fc=Linear(h + seen, h, component=Component.PROJECTOR),
        embed=Conv(h, h, 7, dims=1, component=Component.EMBEDDING),
        prior_net=residuals,
        rotary_emb=Activation("Xcodec2RotaryEmbedding"),
        layers=_LAYERS.layers(c),
        post_net=residuals,
        norm=LayerNorm(h, eps=1e-6),
        head=Module("Xcodec2ISTFTHead", linear=Linear(h, bins), component=Component.HEAD),
    )
    width, levels = c.dim("quantization_dim"), len(c.dims("quantization_levels"))
    return Module(
        "Xcodec2Model",
        semantic_encoder=auto_model(meant, default_type="wav2vec2-bert"),
        semantic_adapter=Module(
            "Xcodec2SemanticAdapter", convs, act1=act, act2=act, component=Component.CONV
        ),
        acoustic_encoder=dac.encoder(c, name="Xcodec2", snake=_snake),
        fc_encoder=Linear(h + seen, h + seen, component=Component.PROJECTOR),
        quantizer=Module(
            "Xcodec2Quantizer",
            quantizer=Activation("Xcodec2FiniteScalarQuantization"),
            project_in=Linear(width, levels),
            project_out=Linear(levels, width),
            component=Component.EMBEDDING,
        ),
        acoustic_decoder=decoder,
        part="audio",
    )


def _resampled(c: ModelConfig) -> Module:
    """NeuCodec's sound has another rate than what it listens to."""
    given = c.dim("input_sampling_rate", default=16000)
    made = c.dim("output_sampling_rate", default=24000)
    samples = int(hop(c) * int(made) / int(given))
    return renamed(model(c, samples), "Xcodec2", "NeuCodec")


register_part("xcodec2", "Xcodec2Model", defaulted(_DEFAULTS, model), "audio")
register_part("neucodec", "NeuCodecModel", defaulted(_DEFAULTS, _resampled), "audio")
