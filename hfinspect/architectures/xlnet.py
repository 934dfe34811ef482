"""XLNet (Yang et al. 2019). Source of shapes: transformers/models/xlnet/modeling_xlnet.py.

Attention keeps its projections as (d_model, heads, head) tensors, one of them for relative
positions, with three biases for content, position and segment. Post-norm.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.heads import beam_answers, causal_lm, classifier, sequence_summary
from ..trees.catalog import Builder, register
from ..trees.keeps import Unknown
from ..trees.modules import Dropout, Embedding, LayerNorm, Layers, Linear, Module, Weight

_hidden = size("d_model", "hidden_size", default=1024)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-12))


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = c.dim("n_head", "num_attention_heads", default=16)
    head = c.divided(h, heads, "d_model", "n_head")
    return Module(
        "XLNetRelativeAttention",
        q=Weight(h, heads, head, kind="query"),
        k=Weight(h, heads, head, kind="key"),
        v=Weight(h, heads, head, kind="value"),
        o=Weight(h, heads, head, kind="output"),
        r=Weight(h, heads, head, kind="relative_position"),
        r_r_bias=Weight(heads, head, kind="relative_position"),
        r_s_bias=Weight(heads, head, kind="segment"),
        r_w_bias=Weight(heads, head),
        seg_embed=Weight(2, heads, head, kind="segment"),
        layer_norm=_norm(c),
        dropout=Dropout(c.number("dropout", default=0.1)),
        component=Component.ATTENTION,
        keeps=(Unknown("its memory is hidden states, as long as mem_len"),),
    )


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("d_inner", default=4096)
    dropout = Dropout(c.number("dropout", default=0.1))
    return Module(
        "XLNetLayer",
        rel_attn=attention(c),
        ff=Module(
            "XLNetFeedForward",
            layer_norm=_norm(c),
            layer_1=Linear(h, inner, kind="up"),
            layer_2=Linear(inner, h, kind="down"),
            dropout=dropout,
            activation_function=activation(c.text("ff_activation", default="gelu")),
            component=Component.MLP,
        ),
        dropout=dropout,
    )


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "XLNetModel",
        mask_emb=Weight(1, 1, h, component=Component.EMBEDDING, kind="mask_token"),
        word_embedding=Embedding(c.dim("vocab_size", "n_token", default=32000), h),
        layer=Layers.of(c.count("n_layer", "num_hidden_layers", default=24), layer(c)),
        dropout=Dropout(c.number("dropout", default=0.1)),
    )


def _summarised(name: str, *, choice: bool = False) -> Builder:
    """A summary of the sequence (to H by default), then the logits; one for multiple choice."""

    def build(c: ModelConfig) -> Module:
        h = _hidden(c)
        summary = sequence_summary(c, "XLNetSequenceSummary", h, c.num_labels, to_labels=False)
        logits = classifier(h, 1 if choice else c.num_labels)
        return Module(name, transformer=model(c), sequence_summary=summary, logits_proj=logits)

    return build


def _labelled(name: str, head: str) -> Builder:
    def build(c: ModelConfig) -> Module:
        return Module(name, {"transformer": model(c), head: classifier(_hidden(c), c.num_labels)})

    return build


def question_answering(c: ModelConfig) -> Module:
    """Beam search over starts and ends, and whether there is an answer."""
    heads = beam_answers("XLNet", _hidden(c), _norm(c))
    for head in heads.values():
        head.component, head.kind = Component.HEAD, "classifier"
    return Module("XLNetForQuestionAnswering", {"transformer": model(c), **heads})


register(
    "xlnet",
    {
        "XLNetLMHeadModel": causal_lm(
            "XLNetLMHeadModel", model, prefix="transformer", embedding="word_embedding",
            tied_default=True, bias=True, head="lm_loss",
        ),
        "XLNetModel": model,
        "XLNetForSequenceClassification": _summarised("XLNetForSequenceClassification"),
        "XLNetForMultipleChoice": _summarised("XLNetForMultipleChoice", choice=True),
        "XLNetForTokenClassification": _labelled("XLNetForTokenClassification", "classifier"),
        "XLNetForQuestionAnsweringSimple": _labelled(
            "XLNetForQuestionAnsweringSimple", "qa_outputs"
        ),
        "XLNetForQuestionAnswering": question_answering,
    },
    base="XLNetModel",
    base_prefix="transformer",
    category="text decoder",
)  # fmt: skip
