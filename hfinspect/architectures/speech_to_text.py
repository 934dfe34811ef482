"""Speech2Text (Wang et al. 2020). Source: transformers/models/speech_to_text. Strided convolutions
over filter banks, then BART's kind of encoder and decoder with norms before."""

from ..layers import seq2seq
from ..layers.heads import causal_lm
from ..trees import Component, Conv, ModelConfig, Module, ModuleList, register_pair

STYLE = seq2seq.Seq2Seq(
    "Speech2Text",
    final_norm=True,
    vocab=10000,
    width=256,
    layers=(12, 6),
    inner=(2048, 2048),
    heads=(4, 4),
    act="relu",
)


def model(c: ModelConfig) -> Module:
    """Each convolution but the last makes ``conv_channels``, of which gating leaves half."""
    layers = c.count("num_conv_layers", default=2)
    bands = c.dim("input_feat_per_channel", default=80)
    inner = c.dim("conv_channels", default=1024)
    first = bands * c.dim("input_channels", default=1)
    out = seq2seq.width(c, STYLE) * 2
    ends = [first, *[inner // 2] * layers], [*[inner] * (layers - 1), out]
    sizes = zip(*ends, c.dims("conv_kernel_sizes", default=(5, 5), count=layers), strict=False)
    built = ModuleList(Conv(a, b, kernel, dims=1, stride=2) for a, b, kernel in sizes)
    conv = Module("Conv1dSubsampler", conv_layers=built, component=Component.CONV)
    encoder = seq2seq.stack(c, STYLE, 0).without("embed_tokens")
    encoder.children = {"conv": conv, **encoder.children}
    encoder.part = "audio"
    return Module("Speech2TextModel", encoder=encoder, decoder=seq2seq.stack(c, STYLE, 1))


_WHOLE = "Speech2TextForConditionalGeneration"
_TABLE = "decoder.embed_tokens"
generation = causal_lm(_WHOLE, model, embedding=_TABLE, tied_default=True)
register_pair("speech_to_text", "Speech2Text", generation, model, "audio")
