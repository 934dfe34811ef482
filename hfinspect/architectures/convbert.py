"""ConvBERT (Jiang et al. 2020): half of the attention heads give way to convolutions whose kernels
depend on the text (transformers/models/convbert)."""

from ..layers import bert_encoders as bert
from ..layers.encoders import BASE, attending, hidden
from ..trees import Activation, Component, Conv, Dim, Dropout, Linear, ModelConfig, Module, Weight
from .bert import BERT


def _attention(e: bert.Encoder, c: ModelConfig) -> Module:
    h = hidden(c)
    kernel = c.dim("conv_kernel_size", default=9)
    # Of the heads one in ``head_ratio`` stays attention, at least one.
    heads = c.dim("num_attention_heads")
    ratio = c.dim("head_ratio", default=2)
    heads = heads // ratio if heads >= ratio else heads // heads
    width = heads * (c.divided(h, heads, "hidden_size", "num_attention_heads") // 2)
    separable = Module(
        "SeparableConv1D",
        bias=Weight(width, 1),
        depthwise=Conv(h, h, kernel, dims=1, groups=h, bias=False),
        pointwise=Conv(h, width, 1, dims=1, bias=False),
        component=Component.CONV,
    )
    self_attention = Module(
        "ConvBertSelfAttention",
        {kind: Linear(h, width, kind=kind) for kind in ("query", "key", "value")},
        key_conv_attn_layer=separable,
        conv_kernel_layer=Linear(width, heads * kernel),
        conv_out_layer=Linear(h, width),
        unfold=Activation("Unfold"),
        dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.1)),
    )
    return attending(c, e.name, self_attention)


def _layer(e: bert.Encoder, c: ModelConfig) -> Module:
    """BERT's, or with one linear layer per group: (groups, in / groups, out / groups)."""
    h = hidden(c)
    inner = c.dim("intermediate_size")
    groups = c.dim("num_groups", default=1)

    def grouped(inputs: Dim, outputs: Dim, kind: str) -> Module:
        inside = c.divided(inputs, groups, "the layer's input", "num_groups")
        outside = c.divided(outputs, groups, "the layer's output", "num_groups")
        weight = Weight(groups, inside, outside)
        return Module("GroupedLinearLayer", weight=weight, bias=Weight(outputs), kind=kind)

    block = bert.bert_layer(e, c)
    if groups != 1:
        block.inside("intermediate").adding(dense=grouped(h, inner, "up"))
        block.inside("output").adding(dense=grouped(inner, h, "down"))
    return block


BERT.like(
    "ConvBert",
    "convbert",
    defaults={**BASE, "embedding_size": 768},
    attention=_attention,
    layer=_layer,
    embeddings=bert.narrow_tables,
    make_model=bert.projected,
    forms=lambda e: {**bert.summary_forms(e), "ForMaskedLM": bert.generating(e)},
).register("convbert")
