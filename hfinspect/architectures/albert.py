"""ALBERT (Lan et al. 2019). Source of shapes: transformers/models/albert/modeling_albert.py.

Embeddings are narrow and mapped to the hidden size once; the layers share their weights: the file
holds each group of layers once, however often the model runs it.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.blocks import activation
from ..layers.composing import composed, with_defaults
from ..layers.encoders import dropout, hidden, labels, norm, one_label, vocab
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Layers, Linear, Module, ModuleList, Weight

_TABLE = "albert.embeddings.word_embeddings.weight"
_DEFAULTS = {
    "vocab_size": 30000, "embedding_size": 128, "hidden_size": 4096, "num_hidden_layers": 12,
    "num_hidden_groups": 1, "num_attention_heads": 64, "intermediate_size": 16384,
    "inner_group_num": 1, "hidden_act": "gelu_new", "max_position_embeddings": 512,
    "type_vocab_size": 2,
}  # fmt: skip


def _width(c: ModelConfig) -> Dim:
    return c.dim("embedding_size")


def attention(c: ModelConfig) -> Module:
    h = hidden(c)
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    return Module(
        "AlbertAttention",
        attention_dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.0)),
        output_dropout=dropout(c),
        query=Linear(h, h, kind="query"),
        key=Linear(h, h, kind="key"),
        value=Linear(h, h, kind="value"),
        dense=Linear(h, h, kind="output"),
        LayerNorm=norm(c),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    h, inner = hidden(c), c.dim("intermediate_size")
    return Module(
        "AlbertLayer",
        full_layer_layer_norm=norm(c),
        attention=attention(c),
        ffn=Linear(h, inner, component=Component.MLP, kind="up"),
        ffn_output=Linear(inner, h, component=Component.MLP, kind="down"),
        activation=activation(c.text("hidden_act")),
        dropout=dropout(c),
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    c.count("num_hidden_layers")  # how often the groups run: no tensors of its own
    inner = ModuleList([layer(c)] * int(c.count("inner_group_num")))
    group = Module("AlbertLayerGroup", albert_layers=inner)
    pool = Linear(hidden(c), hidden(c), component=Component.HEAD, kind="pooler")
    return Module(
        "AlbertModel",
        embeddings=encoders.embeddings(c, "Albert", width=_width(c)),
        encoder=Module(
            "AlbertTransformer",
            embedding_hidden_mapping_in=Linear(
                _width(c), hidden(c), component=Component.EMBEDDING, kind="token"
            ),
            albert_layer_groups=Layers.of(c.count("num_hidden_groups"), group),
        ),
        pooler=pool if pooling else None,
        pooler_activation=Activation("Tanh") if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def predictions(c: ModelConfig) -> Module:
    tied = c.tied()
    return Module(
        "AlbertMLMHead",
        bias=Weight(vocab(c), kind="lm_head"),
        LayerNorm=norm(c, _width(c)),
        dense=Linear(hidden(c), _width(c), kind="transform"),
        decoder=Linear(
            _width(c),
            vocab(c),
            kind="lm_head",
            tied_to=_TABLE if tied else None,
            bias_tied_to="predictions.bias" if tied else None,
        ),
        activation=activation(c.text("hidden_act")),
        component=Component.HEAD,
    )


def sentence_order(c: ModelConfig) -> Module:
    return Module("AlbertSOPHead", dropout=_dropout(c), classifier=labels(c))


def _dropout(c: ModelConfig) -> Module:
    return Dropout(c.number("classifier_dropout_prob", default=0.1))


_CLASSES = composed(
    {
        "AlbertForMaskedLM": {"albert": _bare, "predictions": predictions},
        "AlbertModel": model,
        "AlbertForPreTraining": {
            "albert": model,
            "predictions": predictions,
            "sop_classifier": sentence_order,
        },
        "AlbertForSequenceClassification": {
            "albert": model,
            "dropout": _dropout,
            "classifier": labels,
        },
        "AlbertForTokenClassification": {
            "albert": _bare,
            "dropout": _dropout,
            "classifier": labels,
        },
        "AlbertForQuestionAnswering": {"albert": _bare, "qa_outputs": labels},
        "AlbertForMultipleChoice": {"albert": model, "dropout": _dropout, "classifier": one_label},
    }
)

register(
    "albert",
    with_defaults(_DEFAULTS, _CLASSES),
    base="AlbertModel",
    base_prefix="albert",
    category="encoder",
)
