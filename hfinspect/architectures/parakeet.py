"""Parakeet (NVIDIA 2024), FastConformer (Rekesh et al. 2023). Source: transformers/models/parakeet.

Strided 2-D convolutions over mel features, Conformer layers with relative positions; heads for CTC
or transducers, whose decoder is an LSTM over the words said so far.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import conformers
from ..layers.blocks import two_layer_mlp
from ..layers.composing import defaulted
from ..trees.catalog import auto_model, register_part
from ..trees.modules import (
    Activation,
    BatchNorm,
    Conv,
    Embedding,
    Layers,
    Linear,
    Module,
    ModuleList,
    Weight,
)
from .encodec import lstm

DEFAULTS = {
    "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 8,
    "intermediate_size": 4096, "hidden_act": "silu", "conv_kernel_size": 9,
    "subsampling_factor": 8, "subsampling_conv_channels": 256, "num_mel_bins": 80,
    "subsampling_conv_kernel_size": 3, "subsampling_conv_stride": 2,
}  # fmt: skip
_ENCODER = "parakeet_encoder"


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=1024)


def _attention(c: ModelConfig) -> Module:
    h, heads = _hidden(c), c.dim("num_attention_heads")
    size = c.optional_dim("head_dim") or c.divided(h, heads, "hidden_size", "num_attention_heads")
    width, bias = heads * size, c.flag("attention_bias", default=True)
    kv = c.dim("num_key_value_heads", default=heads) * size
    position = Weight(heads, size, kind="relative_position")
    return Module(
        "ParakeetEncoderAttention",
        bias_u=position,
        bias_v=position,
        q_proj=Linear(h, width, bias=bias, kind="query"),
        k_proj=Linear(h, kv, bias=bias, kind="key"),
        v_proj=Linear(h, kv, bias=bias, kind="value"),
        o_proj=Linear(width, h, bias=bias, kind="output"),
        relative_k_proj=Linear(h, width, bias=False, kind="relative_position"),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig, norm: Module | None = None) -> Module:
    """``norm`` stands in the convolution, in place of a batch norm."""
    h, act = _hidden(c), c.text("hidden_act")
    inner, bias = c.dim("intermediate_size"), c.flag("attention_bias", default=True)
    conv_bias = c.flag("convolution_bias", default=True)
    mlp = two_layer_mlp(
        "ParakeetEncoderFeedForward", h, inner, act=act, bias=bias, **conformers.MLP
    )
    convolution = conformers.convolution(
        "ParakeetEncoderConvolutionModule", h, c.dim("conv_kernel_size"),
        norm or BatchNorm(h, dims=1), act=act, bias=conv_bias,
    )  # fmt: skip
    return conformers.block("ParakeetEncoderBlock", h, mlp, _attention(c), convolution)


def subsampling(c: ModelConfig) -> Module:
    """log2(factor) strided convolutions, all but the first depthwise and pointwise."""
    channels, kernel = c.dim("subsampling_conv_channels"), c.dim("subsampling_conv_kernel_size")
    factor, stride = int(c.dim("subsampling_factor")), c.dim("subsampling_conv_stride")
    steps = factor.bit_length() - 1
    built = conformers.subsampling(channels, kernel, steps, stride)
    bands = c.dim("num_mel_bins") // int(stride) ** steps
    return Module(
        "ParakeetEncoderSubsamplingConv2D",
        layers=ModuleList(built),
        linear=Linear(channels * bands, _hidden(c)),
        component=Component.CONV,
    )


def stack(c: ModelConfig, steps: Module, block: Module) -> Module:
    """The encoder of ``steps`` that thin out the frames and layers like ``block``."""
    return Module(
        "ParakeetEncoder",
        subsampling=steps,
        encode_positions=Activation("ParakeetEncoderRelPositionalEncoding"),
        layers=Layers.of(c.count("num_hidden_layers"), block),
        part="audio",
    )


def encoder(c: ModelConfig) -> Module:
    return stack(c, subsampling(c), layer(c))


def _listening(c: ModelConfig, model_type: str = _ENCODER) -> tuple[Module, Dim]:
    """The encoder of a whole, and its width."""
    section = c.section("encoder_config")
    return auto_model(section, default_type=model_type), _hidden(section)


def ctc(c: ModelConfig) -> Module:
    heard, width = _listening(c)
    words, kind = c.dim("vocab_size", default=1025), "lm_head"
    head = Conv(width, words, 1, dims=1, component=Component.HEAD, kind=kind)
    head.class_name = "ParakeetEncoderCTCHead"
    return Module("ParakeetForCTC", encoder=heard, ctc_head=head, part="audio")


def transducer(
    c: ModelConfig, name: str, *, vocab: int = 8193, durations: int = 0, encoder: str = _ENCODER
) -> Module:
    """``durations``: how many lengths of a word the joint network chooses from as well."""
    heard, seen = _listening(c, encoder)
    width, words = c.dim("decoder_hidden_size", default=640), c.dim("vocab_size", default=vocab)
    outputs = words + durations if durations else words
    return Module(
        name,
        encoder=heard,
        encoder_projector=Linear(seen, width, component=Component.PROJECTOR),
        decoder=Module(
            "ParakeetRNNTDecoder",
            embedding=Embedding(words, width),
            lstm=lstm(width, c.count("num_decoder_layers", default=2)),
            decoder_projector=Linear(width, width, component=Component.PROJECTOR),
        ),
        joint=Module(
            f"{name.replace('For', '')}JointNetwork",
            head=Linear(width, outputs, kind="lm_head"),
            component=Component.HEAD,
        ),
    )


def rnnt(c: ModelConfig) -> Module:
    return transducer(c, "ParakeetForRNNT")


def tdt(c: ModelConfig) -> Module:
    durations = c.dims("durations", default=(0, 1, 2, 3, 4), minimum=0)
    return transducer(c, "ParakeetForTDT", durations=len(durations))


register_part(_ENCODER, "ParakeetEncoder", defaulted(DEFAULTS, encoder), "audio")
register_part("parakeet_ctc", "ParakeetForCTC", ctc, "audio")
register_part("parakeet_rnnt", "ParakeetForRNNT", rnnt, "audio")
register_part("parakeet_tdt", "ParakeetForTDT", tdt, "audio")
