"""Granite Speech 5 (IBM 2026). Source of shapes: transformers/models/granite_speech5.

A Conformer whose attention looks within blocks of frames, and which is fed its own guess of the
words halfway; the head for CTC is the layer that makes that guess.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import conformers
from ..layers.blocks import two_layer_mlp
from ..layers.composing import defaulted
from ..trees.catalog import auto_model, register_part
from ..trees.modules import BatchNorm, Conv, Embedding, Layers, Linear, Module

_NAME = "GraniteSpeech5"
_ENCODER = "granite_speech5_encoder"
_DEFAULTS = {
    "vocab_size": 16384, "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 16,
    "num_attention_heads": 8, "num_mel_bins": 80, "max_position_embeddings": 512,
    "conv_kernel_size": 7, "conv_expansion_factor": 2,
}  # fmt: skip


def _attention(c: ModelConfig, h: Dim) -> Module:
    heads = c.dim("num_attention_heads")
    size = c.dim("head_dim", default=h // heads)
    width, reach = heads * size, c.dim("max_position_embeddings")
    return Module(
        f"{_NAME}EncoderAttention",
        q_proj=Linear(h, width, bias=False, kind="query"),
        k_proj=Linear(h, width, bias=False, kind="key"),
        v_proj=Linear(h, width, bias=False, kind="value"),
        o_proj=Linear(width, h, kind="output"),
        rel_pos_emb=Embedding(2 * reach + 1, size, component=None, kind="relative_position"),
        component=Component.ATTENTION,
    )


def _convolution(c: ModelConfig, h: Dim) -> Module:
    inner = h * c.dim("conv_expansion_factor")
    kernel = c.dim("conv_kernel_size")
    return Module(
        f"{_NAME}EncoderConvolutionModule",
        pointwise_lin1=Linear(h, inner * 2),
        depthwise_conv=Conv(inner, inner, kernel, dims=1, groups=inner, bias=False),
        norm=BatchNorm(inner, dims=1),
        pointwise_lin2=Linear(inner, h),
        component=Component.CONV,
    )


def encoder(c: ModelConfig) -> Module:
    h, words, inner = c.dim("hidden_size"), c.dim("vocab_size"), c.dim("intermediate_size")
    act, bias = c.text("hidden_act", default="silu"), c.flag("attention_bias", default=True)
    mlp = two_layer_mlp(
        f"{_NAME}EncoderFeedForward", h, inner, act=act, bias=bias, **conformers.MLP
    )
    layer = conformers.block(f"{_NAME}EncoderBlock", h, mlp, _attention(c, h), _convolution(c, h))
    count = int(c.count("num_hidden_layers"))
    # Some convolutions have a stride of 2, which changes no tensor.
    halving = c.raw("subsample_layers")
    halving = (0, 1) if halving is None else halving
    if not isinstance(halving, (list, tuple)):
        raise c.error("subsample_layers", halving, "a list of numbers")
    thinning = Module(f"{_NAME}EncoderSubsamplingBlock", layer.children)
    layers = [thinning if i in halving else layer for i in range(count)]
    return Module(
        f"{_NAME}Encoder",
        input_linear=Linear(c.dim("num_mel_bins") * 4, h, component=Component.EMBEDDING),
        layers=Layers(layers, count=c.count("num_hidden_layers")),
        out=Linear(h, words, component=Component.HEAD, kind="lm_head"),
        out_mid=Linear(words, h, component=Component.PROJECTOR),
        part="audio",
    )


def ctc(c: ModelConfig) -> Module:
    inner = c.section("encoder_config").with_defaults(**_DEFAULTS)
    h, tied = inner.dim("hidden_size"), c.tied()
    vocab = inner.dim("vocab_size") if tied else c.dim("vocab_size", default=16384)
    head = Linear(
        h,
        vocab,
        tied_to="encoder.out.weight" if tied else None,
        bias_tied_to="encoder.out.bias" if tied else None,
        component=Component.HEAD,
        kind="lm_head",
    )
    sound = auto_model(inner, default_type=_ENCODER)
    return Module(f"{_NAME}ForCTC", encoder=sound, ctc_head=head, part="audio")


register_part(_ENCODER, f"{_NAME}Encoder", defaulted(_DEFAULTS, encoder), "audio")
register_part("granite_speech5_ctc", f"{_NAME}ForCTC", ctc, "audio")
