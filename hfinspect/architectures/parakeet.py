"""Parakeet (NVIDIA 2024), FastConformer (Rekesh et al. 2023), with heads for CTC or transducers,
whose decoder is an LSTM over the words said so far. Source: transformers/models/parakeet."""

from functools import partial

from ..layers import conformers
from ..layers.blocks import size
from ..layers.composing import defaulted
from ..layers.heads import to_words
from ..trees import Component, ModelConfig, auto_model, config_defaults, register_part
from ..trees import modules as nn
from .encodec import lstm

DEFAULTS = config_defaults("parakeet")
_ENCODER = "parakeet_encoder"
_hidden = size("hidden_size", default=1024)


def encoder(c: ModelConfig) -> nn.Module:
    """log2(factor) strided convolutions, all but the first depthwise and pointwise, and layers."""
    channels = c.dim("subsampling_conv_channels")
    kernel = c.dim("subsampling_conv_kernel_size")
    stride = c.dim("subsampling_conv_stride")
    times = int(c.dim("subsampling_factor")).bit_length() - 1
    bands = c.dim("num_mel_bins") // int(stride) ** times
    layers = conformers.subsampling(channels, kernel, times, stride)
    parts = {"layers": layers, "linear": nn.Linear(channels * bands, _hidden(c))}
    steps = nn.Module("ParakeetEncoderSubsamplingConv2D", parts, component=Component.CONV)
    return conformers.fast_encoder(c, steps, conformers.fast_layer(c))


def ctc(c: ModelConfig) -> nn.Module:
    section = c.section("encoder_config")
    words = c.dim("vocab_size", default=1025)
    make_conv = partial(nn.Conv, dims=1, component=Component.HEAD, kind="lm_head")
    head = make_conv(_hidden(section), words, 1, class_name="ParakeetEncoderCTCHead")
    heard = auto_model(section, default_type=_ENCODER)
    return nn.Module("ParakeetForCTC", encoder=heard, ctc_head=head, part="audio")


def transducer(
    c: ModelConfig, name: str, *, vocab: int = 8193, timed: bool = False, encoder: str = _ENCODER
) -> nn.Module:
    """``timed``: the joint network chooses the length of a word as well."""
    section = c.section("encoder_config")
    to = Component.PROJECTOR
    width = c.dim("decoder_hidden_size", default=640)
    words = c.dim("vocab_size", default=vocab)
    lengths = len(c.dims("durations", default=(0, 1, 2, 3, 4), minimum=0)) if timed else 0
    outputs = words + lengths if lengths else words
    joint = f"{name.replace('For', '')}JointNetwork"
    recurrent = lstm(width, c.count("num_decoder_layers", default=2))
    parts = {"embedding": nn.Embedding(words, width), "lstm": recurrent}
    parts["decoder_projector"] = nn.Linear(width, width, component=to)
    return nn.Module(
        name,
        encoder=auto_model(section, default_type=encoder),
        encoder_projector=nn.Linear(_hidden(section), width, component=to),
        decoder=nn.Module("ParakeetRNNTDecoder", parts),
        joint=nn.Module(joint, head=to_words(width, outputs, bias=True)),
    )


register_part(_ENCODER, "ParakeetEncoder", defaulted(DEFAULTS, encoder), "audio")
register_part("parakeet_ctc", "ParakeetForCTC", ctc, "audio")
for _name, _timed in ("RNNT", False), ("TDT", True):
    _build = partial(transducer, name=f"ParakeetFor{_name}", timed=_timed)
    register_part(f"parakeet_{_name.lower()}", f"ParakeetFor{_name}", _build, "audio")
