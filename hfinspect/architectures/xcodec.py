"""X-Codec (Ye et al. 2024), and the tokenizer of Higgs Audio v2 (Boson AI 2025). Source of shapes:
transformers/models/xcodec and transformers/models/higgs_audio_v2_tokenizer.

Descript's encoder and decoder (dac.py) for the sound, HuBERT and small convolutions for what it
means, and codebooks over both, Higgs Audio's in fewer dimensions. Codebooks are buffers: learned by
averaging, not by gradients.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import sound
from ..layers.composing import defaulted, renamed
from ..trees.catalog import auto_model, register_part
from ..trees.modules import Activation, Conv, Linear, Module, ModuleList
from . import dac

_DEFAULTS = {
    "kernel_size": 3, "channel_ratios": (1, 1), "strides": (1, 1), "block_dilations": (1, 1),
    "unit_kernel_size": 3, "codebook_size": 1024, "sample_rate": 16000,
}  # fmt: skip
#: What the config class lays under the section of the heard.
_ACOUSTIC = {
    "encoder_hidden_size": 64, "downsampling_ratios": (8, 5, 4, 2), "decoder_hidden_size": 1024,
    "upsampling_ratios": (8, 5, 4, 2), "hidden_size": 256,
}  # fmt: skip
_BANDWIDTHS = (0.5, 1, 1.5, 2, 4)
#: Models of speech whose width is 768 unless their section says otherwise.
_SPEECH = ("hubert", "wav2vec2", "wavlm")


def _units(c: ModelConfig, width: Dim) -> Module:
    unit = Module(
        "XcodecResidualUnit",
        activation=Activation("ELU", "alpha=1.0"),
        conv1=Conv(width, width, c.dim("unit_kernel_size"), dims=1, bias=False),
        conv2=Conv(width, width, 1, dims=1, bias=False),
    )
    return ModuleList([unit] * len(c.dims("block_dilations")))


def _stages(c: ModelConfig, h: Dim) -> list[tuple[Dim, Dim]]:
    """(stride, channels) of each."""
    strides, ratios = c.dims("strides"), c.dims("channel_ratios")
    if len(strides) != len(ratios) or not strides:
        raise c.miscounted("strides", len(strides), f"as channel_ratios: {len(ratios)}")
    return [(stride, h * ratio) for stride, ratio in zip(strides, ratios, strict=True)]


def _same(c: ModelConfig, inputs: Dim, outputs: Dim) -> Module:
    return Conv(inputs, outputs, c.dim("kernel_size"), dims=1, bias=False)


def semantic_encoder(c: ModelConfig, h: Dim) -> Module:
    built, width = [], h
    for stride, outputs in _stages(c, h):
        kernel = 3 if int(stride) == 1 else stride * 2
        conv = Conv(width, outputs, kernel, dims=1, stride=stride)
        units = _units(c, width)
        built.append(Module("XcodecSemanticEncoderBlock", res_units=units, conv=conv))
        width = outputs
    conv, blocks = _same(c, h, h), ModuleList(built)
    return Module("SemanticEncoder", conv=conv, conv_blocks=blocks, component=Component.CONV)


def semantic_decoder(c: ModelConfig, h: Dim) -> Module:
    stages, built = _stages(c, h), []
    outs = [*(width for _, width in stages[1:]), h]
    for (stride, width), outputs in zip(stages, outs, strict=True):
        still = int(stride) == 1
        kernel = 3 if still else stride * 2
        conv = Conv(width, outputs, kernel, dims=1, stride=stride, bias=still, transposed=not still)
        built.append(Module("SemanticDecoderBlock", conv=conv, res_units=_units(c, outputs)))
    return Module(
        "SemanticDecoder",
        conv1=_same(c, h, stages[0][1]),
        conv_blocks=ModuleList(built),
        conv2=_same(c, h, h),
        component=Component.CONV,
    )


def _quantizer(c: ModelConfig, states: Dim, samples: int, *, projected: bool) -> Module:
    size, width = c.dim("codebook_size"), c.dim("codebook_dim", default=states)
    codebook = sound.codebook("XcodecEuclideanCodebook", size, width)
    layer = Module(
        "XcodecVectorQuantization",
        codebook=codebook,
        project_in=Linear(states, width) if projected else None,
        project_out=Linear(width, states) if projected else None,
    )
    count = sound.quantizers(c, samples, _BANDWIDTHS)
    return Module(
        "XcodecResidualVectorQuantization",
        quantizers=ModuleList([layer] * int(count)),
        component=Component.EMBEDDING,
    )


def model(c: ModelConfig, *, projected: bool = False) -> Module:
    heard = c.section("acoustic_model_config").with_defaults(**_ACOUSTIC).of_type("dac")
    meant = c.section("semantic_model_config")
    if meant.model_type not in (None, *_SPEECH):
        raise meant.error("model_type", meant.model_type, f"one of {', '.join(_SPEECH)}")
    h, seen = dac.hidden(heard), meant.dim("hidden_size", default=768)
    states, kind, decoder = h + seen, Component.PROJECTOR, dac.decoder(heard)
    decoder.children["tanh"] = Activation("Identity")
    return Module(
        "XcodecModel",
        acoustic_encoder=dac.encoder(heard),
        acoustic_decoder=decoder,
        encoder_semantic=semantic_encoder(c, seen),
        decoder_semantic=semantic_decoder(c, seen),
        semantic_model=auto_model(meant, default_type="hubert"),
        fc=Linear(states, states, component=kind),
        fc1=Linear(states, seen, component=kind),
        fc2=Linear(states, h, component=kind),
        quantizer=_quantizer(c, states, sound.hop(heard), projected=projected),
        part="audio",
    )


def _higgs(c: ModelConfig) -> Module:
    heard = {"mask_time_prob": 0.0, **c.section("semantic_model_config").given}
    built = model(c.with_values(semantic_model_config=heard), projected=True)
    return renamed(built, "Xcodec", _LATER)


_LATER = "HiggsAudioV2Tokenizer"
_HIGGS = {**_DEFAULTS, "codebook_dim": 64, "sample_rate": 24000}

register_part("xcodec", "XcodecModel", defaulted(_DEFAULTS, model), "audio")
register_part("higgs_audio_v2_tokenizer", f"{_LATER}Model", defaulted(_HIGGS, _higgs), "audio")
