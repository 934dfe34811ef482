"""Mimi (Défossez et al. 2024), Moshi's codec: a small transformer on each side of the codebooks, of
which the first carries meaning and the others sound (transformers/models/mimi)."""

import math
from functools import partial
from typing import Any

from ..layers import sound
from ..layers.composing import defaulted
from ..layers.decoders import Decoder, layer_norms, plain, scaled
from ..trees import Buffer, Component, Conv, Layers, ModelConfig, Module, register_part
from ..trees.config_defaults import config_defaults

DEFAULTS = config_defaults("mimi")


def conv(
    inputs: int, outputs: int, kernel: int, *, up: bool = False, stride: int = 1, **options: Any
) -> Module:
    inner = Conv(inputs, outputs, kernel, dims=1, stride=stride, transposed=up, **options)
    return Module("MimiConvTranspose1d" if up else "MimiConv1d", conv=inner)


_LAYERS = Decoder(
    "Mimi", **config_defaults("mimi.decoder"), norm=layer_norms("norm_eps"), mlp=plain, layer=scaled
)


def transformer(c: ModelConfig) -> Module:
    return Module("MimiTransformerModel", layers=_LAYERS.layers(c))


def _resampler(c: ModelConfig, *, up: bool) -> Module | None:
    """What thins frames out further, or brings them back; nothing at the codec's own rate.
    Source: MimiConfig.frame_rate, encodec_frame_rate and latent_stride."""
    hop = sound.hop(c, "upsampling_ratios")
    rate = int(c.dim("sampling_rate"))
    before = math.ceil(rate / hop)
    after = c.number("frame_rate", "_frame_rate", default=rate / (hop * 2))
    if not 0 < after <= before:
        raise c.error("frame_rate", after, "above 0 and at most the codec's own rate")
    if after == before:
        return None
    h = c.dim("hidden_size")
    stride = int(before / after)
    groups = c.dim("upsample_groups")
    c.divided(h, groups, "hidden_size", "upsample_groups")
    return conv(h, h, 2 * stride, up=up, stride=stride, bias=False, groups=groups if up else 1)


def alone(c: ModelConfig) -> Module:
    speaks = transformer(c)
    more = _resampler(c, up=True)
    last = sound.decoder(c, "Mimi", conv, "Model")
    parts = {"upsample": more, "decoder_transformer": speaks, "decoder": last}
    return Module("MimiDecoderModel", parts, part="audio")


def model(c: ModelConfig) -> Module:
    first = c.count("num_semantic_quantizers")
    count = c.count("num_quantizers", minimum=int(first))
    size = c.dim("codebook_size")
    width = c.dim("codebook_dim")
    h = c.dim("hidden_size")
    inner = c.dim("vector_quantization_hidden_dimension")
    to = Component.EMBEDDING
    sums = {"cluster_usage": Buffer(size), "embed_sum": Buffer(size, width)}
    codebook = Module("MimiEuclideanCodebook", {"initialized": Buffer(1), **sums})
    layer = Module("MimiVectorQuantization", codebook=codebook)
    project = partial(Conv, kernel=1, dims=1, bias=False, component=to)
    into, out = (project(h, inner), project(inner, h)) if inner != h else (None, None)
    name = "MimiResidualVectorQuantizer"
    quantizers = dict[str, Module]()
    for kind, books in {"semantic": first, "acoustic": count - first}.items():
        layers = Layers([layer] * int(books))
        module = Module(name, layers=layers, input_proj=into, output_proj=out)
        quantizers[f"{kind}_residual_vector_quantizer"] = module
    parts = {
        "encoder": sound.encoder(c, "Mimi", conv, "Model"),
        "encoder_transformer": transformer(c),
        "downsample": _resampler(c, up=False),
        **alone(c).children,
        "quantizer": Module("MimiSplitResidualVectorQuantizer", quantizers, component=to),
    }
    return Module("MimiModel", parts, part="audio")


register_part("mimi", "MimiModel", defaulted(DEFAULTS, model), "audio", prefix="mimi")
_HALF = defaulted(DEFAULTS, alone)
register_part("mimi_decoder", "MimiDecoderModel", _HALF, "audio", prefix="decoder")
