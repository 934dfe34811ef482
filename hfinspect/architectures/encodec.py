"""EnCodec (Defossez et al. 2022): convolutions with an LSTM at the bottom of each side, and
codebooks between them, which are buffers: learned by averaging (transformers/models/encodec)."""

from functools import partial

from ..layers import sound
from ..layers.composing import defaulted
from ..layers.speech import weight_normed
from ..trees import Component, Dim, ModelConfig, config_defaults, register_part
from ..trees.modules import Conv, GroupNorm, Layers, Module, Weight

_DEFAULTS = config_defaults("encodec")


def conv(
    c: ModelConfig,
    inputs: Dim,
    outputs: Dim,
    kernel: Dim | int,
    *,
    up: bool = False,
    stride: int = 1,
) -> Module:
    """A convolution whose weight or output is normed; ``up``: transposed."""
    inner = Conv(inputs, outputs, kernel, dims=1, stride=stride, transposed=up)
    grouped = c.word("norm_type", "weight_norm", "time_group_norm") == "time_group_norm"
    return Module(
        "EncodecConvTranspose1d" if up else "EncodecConv1d",
        conv=inner if grouped else weight_normed(inner, (inputs if up else outputs, 1, 1)),
        norm=GroupNorm(1, outputs) if grouped else None,
    )


def lstm(width: Dim, layers: int) -> Module:
    """``nn.LSTM``: per layer two matrices of 4·W·W and two biases of 4·W, for four gates."""
    gates = {"weight": Weight(4 * width, width), "bias": Weight(4 * width)}
    names = [(kind, f"{kind}_{way}_l") for kind in gates for way in ("ih", "hh")]
    tensors = {f"{name}{i}": gates[kind] for i in range(int(layers)) for kind, name in names}
    return Module("LSTM", tensors, component=Component.OTHER)


def model(c: ModelConfig) -> Module:
    size = c.dim("codebook_size")
    width = c.dim("codebook_dim", default=c.dim("hidden_size"))
    codebook = sound.codebook("EncodecEuclideanCodebook", size, width)
    make_conv = partial(conv, c)
    hop = sound.hop(c, "upsampling_ratios")
    count = sound.quantizers(c, hop, (1.5, 3.0, 6.0, 12.0, 24.0), rate="sampling_rate")
    layers = Layers([Module("EncodecVectorQuantization", codebook=codebook)] * int(count))

    def bottom(width: Dim) -> Module:
        return Module("EncodecLSTM", lstm=lstm(width, c.count("num_lstm_layers")))

    name = "EncodecResidualVectorQuantizer"
    to = Component.EMBEDDING
    return Module(
        "EncodecModel",
        encoder=sound.encoder(c, "Encodec", make_conv, shortcut=True, bottom=bottom),
        decoder=sound.decoder(c, "Encodec", make_conv, shortcut=True, bottom=bottom),
        quantizer=Module(name, layers=layers, component=to),
        part="audio",
    )


register_part("encodec", "EncodecModel", defaulted(_DEFAULTS, model), "audio", prefix="encodec")
