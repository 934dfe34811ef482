"""X-Codec (Ye et al. 2024) and the tokenizer of Higgs Audio v2 (Boson AI 2025): Descript's codec
(dac.py) for the sound, HuBERT and small convolutions for what it means, codebooks over both. Source
of shapes: transformers/models/{xcodec,higgs_audio_v2_tokenizer}."""

from functools import partial

from ..layers import sound
from ..layers.composing import defaulted, renamed
from ..trees import Component, Dim, ModelConfig, auto_model, config_defaults, register_part
from ..trees.modules import Activation, Conv, Linear, Module, ModuleList
from . import dac

_DEFAULTS = {"codebook_size": 1024, "sample_rate": 16000}
#: What the config class lays under the section of the heard.
_ACOUSTIC = config_defaults("xcodec")


def semantic(c: ModelConfig, h: Dim) -> dict[str, Module]:
    """Encoder and decoder of what the sound means: at each stage residual units and a convolution,
    which keeps the rate or is strided."""
    widths = [h * ratio for ratio in c.dims("channel_ratios", default=(1, 1), least=1)]
    strides = c.dims("strides", default=(1, 1), count=len(widths))
    kernel, unit_kernel = (c.dim(key, default=3) for key in ("kernel_size", "unit_kernel_size"))
    depth = len(c.dims("block_dilations", default=(1, 1)))
    down = list[Module]()
    up = list[Module]()

    def units(width: Dim) -> Module:
        conv = partial(Conv, width, width, dims=1, bias=False)
        parts = {"activation": sound.elu(), "conv1": conv(unit_kernel), "conv2": conv(1)}
        return ModuleList([Module("XcodecResidualUnit", parts)] * depth)

    stages = zip(strides, [h, *widths], widths, [*widths[1:], h], strict=False)
    for stride, above, width, below in stages:
        still = int(stride) == 1
        wide = 3 if still else stride * 2
        conv = Conv(above, width, wide, dims=1, stride=stride)
        down.append(Module("XcodecSemanticEncoderBlock", res_units=units(above), conv=conv))
        conv = Conv(width, below, wide, dims=1, stride=stride, bias=still, transposed=not still)
        up.append(Module("SemanticDecoderBlock", conv=conv, res_units=units(below)))
    same = Conv(h, h, kernel, dims=1, bias=False)
    to = Component.CONV
    first = Conv(h, widths[0], kernel, dims=1, bias=False)
    blocks = ModuleList(up)
    into = Module("SemanticEncoder", conv=same, conv_blocks=ModuleList(down), component=to)
    out = Module("SemanticDecoder", conv1=first, conv_blocks=blocks, conv2=same, component=to)
    return {"encoder_semantic": into, "decoder_semantic": out}


def model(c: ModelConfig, *, projected: bool = False) -> Module:
    heard = c.section("acoustic_model_config").with_defaults(**_ACOUSTIC).of_type("dac")
    meant = c.section("semantic_model_config").of_type("hubert", "wav2vec2", "wavlm")
    h = dac.hidden(heard)
    meaning = meant.dim("hidden_size", default=768)
    states = h + meaning
    kind = Component.PROJECTOR
    size = c.dim("codebook_size")
    width = c.dim("codebook_dim", default=states)
    layer = Module(
        "XcodecVectorQuantization",
        codebook=sound.codebook("XcodecEuclideanCodebook", size, width),
        project_in=Linear(states, width) if projected else None,
        project_out=Linear(width, states) if projected else None,
    )
    count = sound.quantizers(c, sound.hop(heard), (0.5, 1, 1.5, 2, 4))
    name = "XcodecResidualVectorQuantization"
    books = ModuleList([layer] * int(count))
    parts = {
        "acoustic_encoder": dac.encoder(heard),
        "acoustic_decoder": dac.decoder(heard).adding(tanh=Activation("Identity")),
        **semantic(c, meaning),
        "semantic_model": auto_model(meant, default_type="hubert"),
        "fc": Linear(states, states, component=kind),
        "fc1": Linear(states, meaning, component=kind),
        "fc2": Linear(states, h, component=kind),
        "quantizer": Module(name, quantizers=books, component=Component.EMBEDDING),
    }
    return Module("XcodecModel", parts, part="audio")


def _higgs(c: ModelConfig) -> Module:
    heard = {"mask_time_prob": 0.0, **c.section("semantic_model_config").file_values}
    built = model(c.with_values(semantic_model_config=heard), projected=True)
    return renamed(built, "Xcodec", "HiggsAudioV2Tokenizer")


_BOSON = defaulted({**_DEFAULTS, "codebook_dim": 64, "sample_rate": 24000}, _higgs)
register_part("xcodec", "XcodecModel", defaulted(_DEFAULTS, model), "audio")
register_part("higgs_audio_v2_tokenizer", "HiggsAudioV2TokenizerModel", _BOSON, "audio")
