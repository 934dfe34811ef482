"""MobileBERT (Sun et al. 2020). Source: transformers/models/mobilebert/modeling_mobilebert.py.

Thin layers between bottlenecks that narrow the hidden size and widen it again, several MLPs to a
layer; word embeddings are narrow and taken in threes; norms are scales and shifts (``NoNorm``).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.blocks import activation
from ..layers.composing import composed, with_defaults
from ..layers.encoders import dropout, hidden, labels, one_label, vocab
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import (
    Buffer,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Weight,
)

_NAME = "MobileBert"
_DEFAULTS = {
    "vocab_size": 30522, "hidden_size": 512, "num_hidden_layers": 24, "num_attention_heads": 4,
    "intermediate_size": 512, "hidden_act": "relu", "max_position_embeddings": 512,
    "type_vocab_size": 2, "embedding_size": 128, "intra_bottleneck_size": 128,
}  # fmt: skip


def _narrowed(c: ModelConfig) -> bool:
    return c.flag("use_bottleneck", default=True)


def _inside(c: ModelConfig) -> Dim:
    """The hidden size within a layer."""
    given = c.dim("intra_bottleneck_size") if _narrowed(c) else hidden(c)
    return c.dim("true_hidden_size", default=given)


def _norm(c: ModelConfig, size: int) -> Module:
    kind = c.text("normalization_type", default="no_norm")
    if kind not in ("no_norm", "layer_norm"):
        raise c.error("normalization_type", kind, "no_norm or layer_norm")
    eps = c.number("layer_norm_eps", default=1e-12)
    return LayerNorm(size, eps=eps, class_name="NoNorm" if kind == "no_norm" else "LayerNorm")


def _dense(c: ModelConfig, name: str, inputs: Dim, outputs: Dim, *, kind: str | None = None,
           component: Component | None = None) -> Module:  # fmt: skip
    return Module(
        name,
        dense=Linear(inputs, outputs, kind=kind),
        LayerNorm=_norm(c, outputs),
        component=component,
    )


def embeddings(c: ModelConfig) -> Module:
    h, e = hidden(c), c.dim("embedding_size")
    positions = c.dim("max_position_embeddings")
    seen = e * 3 if c.flag("trigram_input", default=True) else e
    return Module(
        "MobileBertEmbeddings",
        word_embeddings=Embedding(vocab(c), e),
        position_embeddings=Embedding(positions, h, kind="position"),
        token_type_embeddings=Embedding(c.dim("type_vocab_size"), h, kind="segment"),
        embedding_transformation=Linear(seen, h, kind="token"),
        LayerNorm=_norm(c, h),
        dropout=Dropout(c.number("hidden_dropout_prob", default=0.0)),
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def attention(c: ModelConfig) -> Module:
    inside = _inside(c)
    c.divided(inside, c.dim("num_attention_heads"), "the layers' hidden size",
              "num_attention_heads")  # fmt: skip
    seen = inside if c.flag("use_bottleneck_attention", default=False) else hidden(c)
    projections = Module(
        "MobileBertSelfAttention",
        query=Linear(inside, inside, kind="query"),
        key=Linear(inside, inside, kind="key"),
        value=Linear(seen, inside, kind="value"),
        dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.1)),
    )
    return Module(
        "MobileBertAttention",
        {
            "self": projections,
            "output": _dense(c, "MobileBertSelfOutput", inside, inside, kind="output"),
        },
        component=Component.ATTENTION,
    )


def _intermediate(c: ModelConfig) -> Module:
    return Module(
        "MobileBertIntermediate",
        dense=Linear(_inside(c), c.dim("intermediate_size"), kind="up"),
        intermediate_act_fn=activation(c.text("hidden_act")),
        component=Component.MLP,
    )


def _bottleneck(c: ModelConfig) -> Module:
    shared = c.flag("key_query_shared_bottleneck", default=True)

    def narrow(component: Component) -> Module:
        size = c.dim("intra_bottleneck_size")
        return _dense(c, "BottleneckLayer", hidden(c), size, component=component)

    return Module(
        "Bottleneck",
        input=narrow(Component.MLP),
        attention=narrow(Component.ATTENTION) if shared else None,
    )


def layer(c: ModelConfig) -> Module:
    inside, inner = _inside(c), c.dim("intermediate_size")
    output = _dense(c, "MobileBertOutput", inner, inside, kind="down", component=Component.MLP)
    if _narrowed(c):
        output.children["bottleneck"] = _dense(c, "OutputBottleneck", inside, hidden(c))
    more = c.count("num_feedforward_networks", default=4, minimum=1) - 1
    ffn = Module(
        "FFNLayer",
        intermediate=_intermediate(c),
        output=_dense(c, "FFNOutput", inner, inside, kind="down"),
        component=Component.MLP,
    )
    return Module(
        "MobileBertLayer",
        attention=attention(c),
        intermediate=_intermediate(c),
        output=output,
        bottleneck=_bottleneck(c) if _narrowed(c) else None,
        ffn=ModuleList([ffn] * int(more)) if more else None,
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    h = hidden(c)
    dense = Linear(h, h) if c.flag("classifier_activation", default=True) else None
    pooler = Module("MobileBertPooler", dense=dense, component=Component.HEAD, kind="pooler")
    return Module(
        "MobileBertModel",
        embeddings=embeddings(c),
        encoder=Module(
            "MobileBertEncoder", layer=Layers.of(c.count("num_hidden_layers"), layer(c))
        ),
        pooler=pooler if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def predictions(c: ModelConfig) -> Module:
    """The words' vectors are the narrow embeddings and a table of what they lack (``dense``)."""
    h, e, tied = hidden(c), c.dim("embedding_size"), c.tied()
    if e > h:
        raise c.error("embedding_size", int(e), f"at most hidden_size = {int(h)}")
    transform = Module(
        "MobileBertPredictionHeadTransform",
        dense=Linear(h, h, kind="transform"),
        transform_act_fn=activation(c.text("hidden_act")),
        LayerNorm=LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-12)),
    )
    table = "mobilebert.embeddings.word_embeddings.weight" if tied else None
    return Module(
        "MobileBertLMPredictionHead",
        bias=Weight(vocab(c), kind="lm_head"),
        transform=transform,
        dense=Linear(vocab(c), h - e, bias=False, kind="lm_head"),
        decoder=Linear(
            e,
            vocab(c),
            tied_to=table,
            bias_tied_to="cls.predictions.bias" if tied else None,
            kind="lm_head",
        ),
    )


def _words(c: ModelConfig, *, sentences: bool = False) -> Module:
    return Module(
        "MobileBertPreTrainingHeads" if sentences else "MobileBertOnlyMLMHead",
        predictions=predictions(c),
        seq_relationship=classifier(hidden(c), 2) if sentences else None,
        component=Component.HEAD,
    )


_CLASSES = composed(
    {
        "MobileBertForMaskedLM": {"mobilebert": _bare, "cls": _words},
        "MobileBertModel": model,
        "MobileBertForPreTraining": {
            "mobilebert": model,
            "cls": lambda c: _words(c, sentences=True),
        },
        "MobileBertForNextSentencePrediction": {
            "mobilebert": model,
            "cls": lambda c: encoders.next_sentence_head(c, _NAME),
        },
        "MobileBertForSequenceClassification": {
            "mobilebert": model,
            "dropout": dropout,
            "classifier": labels,
        },
        "MobileBertForQuestionAnswering": {"mobilebert": _bare, "qa_outputs": labels},
        "MobileBertForMultipleChoice": {
            "mobilebert": model,
            "dropout": dropout,
            "classifier": one_label,
        },
        "MobileBertForTokenClassification": {
            "mobilebert": _bare,
            "dropout": dropout,
            "classifier": labels,
        },
    }
)

register(
    "mobilebert",
    with_defaults(_DEFAULTS, _CLASSES),
    base_prefix="mobilebert",
    category="encoder",
)
