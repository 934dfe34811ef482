"""ConvBERT (Jiang et al. 2020). Source: transformers/models/convbert/modeling_convbert.py.

Half of the attention heads give way to convolutions whose kernels depend on the text; MLPs may be
split into groups.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.blocks import activation
from ..layers.composing import Part, composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels, norm, one_label, vocab
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import Activation, Conv, Dropout, Linear, Module, Weight

_NAME = "ConvBert"


def _width(c: ModelConfig) -> Dim:
    return c.dim("embedding_size", default=768)


def _heads(c: ModelConfig) -> Dim:
    """Heads that stay attention: one in ``head_ratio``, at least one."""
    heads, ratio = c.dim("num_attention_heads"), c.dim("head_ratio", default=2)
    return heads // ratio if heads >= ratio else heads // heads


def attention(c: ModelConfig) -> Module:
    h, heads, kernel = hidden(c), _heads(c), c.dim("conv_kernel_size", default=9)
    width = heads * (c.divided(h, heads, "hidden_size", "num_attention_heads") // 2)
    depthwise = Conv(h, h, kernel, dims=1, groups=h, bias=False)
    separable = Module(
        "SeparableConv1D",
        bias=Weight(width, 1),
        depthwise=depthwise,
        pointwise=Conv(h, width, 1, dims=1, bias=False),
        component=Component.CONV,
    )
    projections = Module(
        "ConvBertSelfAttention",
        query=Linear(h, width, kind="query"),
        key=Linear(h, width, kind="key"),
        value=Linear(h, width, kind="value"),
        key_conv_attn_layer=separable,
        conv_kernel_layer=Linear(width, heads * kernel),
        conv_out_layer=Linear(h, width),
        unfold=Activation("Unfold"),
        dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.1)),
    )
    return Module(
        "ConvBertAttention",
        {"self": projections, "output": encoders.self_output(c, _NAME)},
        component=Component.ATTENTION,
    )


def _dense(c: ModelConfig, inputs: Dim, outputs: Dim, kind: str) -> Module:
    """A linear layer, or one per group: (groups, in / groups, out / groups)."""
    groups = c.dim("num_groups", default=1)
    if groups == 1:
        return Linear(inputs, outputs, kind=kind)
    inside = c.divided(inputs, groups, "the layer's input", "num_groups")
    outside = c.divided(outputs, groups, "the layer's output", "num_groups")
    return Module(
        "GroupedLinearLayer",
        weight=Weight(groups, inside, outside),
        bias=Weight(outputs),
        kind=kind,
    )


def layer(c: ModelConfig) -> Module:
    h, inner = hidden(c), c.dim("intermediate_size")
    return Module(
        "ConvBertLayer",
        attention=attention(c),
        crossattention=attention(c) if encoders.is_cross(c) else None,
        intermediate=Module(
            "ConvBertIntermediate",
            dense=_dense(c, h, inner, "up"),
            intermediate_act_fn=activation(c.text("hidden_act")),
            component=Component.MLP,
        ),
        output=Module(
            "ConvBertOutput",
            dense=_dense(c, inner, h, "down"),
            LayerNorm=norm(c),
            dropout=dropout(c),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    project = Linear(_width(c), hidden(c), component=Component.EMBEDDING, kind="token")
    return Module(
        "ConvBertModel",
        embeddings=encoders.embeddings(c, _NAME, width=_width(c)),
        embeddings_project=project if _width(c) != hidden(c) else None,
        encoder=encoders.encoder(c, _NAME, layer(c)),
    )


def generator(c: ModelConfig) -> Module:
    return Module(
        "ConvBertGeneratorPredictions",
        activation=activation("gelu"),
        LayerNorm=norm(c, _width(c)),
        dense=Linear(hidden(c), _width(c), kind="transform"),
        component=Component.HEAD,
    )


def lm_head(c: ModelConfig) -> Module:
    tied_to = "convbert.embeddings.word_embeddings.weight" if c.tied() else None
    return to_words(_width(c), vocab(c), tied_to, bias=True)


_WORDS: dict[str, Part] = {
    "convbert": model,
    "generator_predictions": generator,
    "generator_lm_head": lm_head,
}
_CLASSES = composed(
    {
        "ConvBertForMaskedLM": _WORDS,
        "ConvBertModel": model,
        "ConvBertForSequenceClassification": {
            "convbert": model,
            "classifier": lambda c: encoders.roberta_classifier(c, _NAME),
        },
        "ConvBertForMultipleChoice": {
            "convbert": model,
            "sequence_summary": lambda c: encoders.sequence_summary(c, _NAME),
            "classifier": one_label,
        },
        "ConvBertForTokenClassification": {
            "convbert": model,
            "dropout": dropout,
            "classifier": labels,
        },
        "ConvBertForQuestionAnswering": {"convbert": model, "qa_outputs": labels},
    }
)

register("convbert", with_defaults(BASE, _CLASSES), base_prefix="convbert", category="encoder")
