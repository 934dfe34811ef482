"""Speech2Text (Wang et al. 2020). Source: transformers/models/speech_to_text.

Strided convolutions over filter banks, then BART's kind of encoder and decoder with norms before;
positions are computed.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import seq2seq
from ..trees.catalog import register_pair
from ..trees.modules import Conv, Layers, Module, ModuleList

STYLE = seq2seq.Seq2Seq(
    "Speech2Text", final_norm=True, vocab=10000, width=256, layers=(12, 6), inner=(2048, 2048),
    heads=(4, 4), act="relu",
)  # fmt: skip


def subsampler(c: ModelConfig) -> Module:
    """Each convolution but the last makes ``conv_channels``, of which gating leaves half."""
    layers = c.count("num_conv_layers", default=2)
    kernels = c.dims("conv_kernel_sizes", default=(5, 5), count=layers)
    bands, inner = c.dim("input_feat_per_channel", default=80), c.dim("conv_channels", default=1024)
    first = bands * c.dim("input_channels", default=1)
    last = len(kernels) - 1
    out = seq2seq.width(c, STYLE) * 2
    built = [
        Conv(inner // 2 if i else first, out if i == last else inner, kernel, dims=1, stride=2)
        for i, kernel in enumerate(kernels)
    ]
    return Module("Conv1dSubsampler", conv_layers=ModuleList(built), component=Component.CONV)


def encoder(c: ModelConfig) -> Module:
    layers = c.count("encoder_layers", "num_hidden_layers", default=12)
    return Module(
        "Speech2TextEncoder",
        conv=subsampler(c),
        layers=Layers.of(layers, seq2seq.encoder_layer(c, STYLE)),
        layer_norm=seq2seq.norm(c, STYLE),
        part="audio",
    )


def model(c: ModelConfig) -> Module:
    return Module("Speech2TextModel", encoder=encoder(c), decoder=seq2seq.stack(c, STYLE, 1))


def generation(c: ModelConfig) -> Module:
    head = seq2seq.lm_head(c, STYLE, "model.decoder.embed_tokens.weight")
    return Module("Speech2TextForConditionalGeneration", model=model(c), lm_head=head)


register_pair("speech_to_text", "Speech2Text", generation, model, "audio")
