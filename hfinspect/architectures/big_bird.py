"""BigBird (Zaheer et al. 2020). Source of shapes: transformers/models/big_bird.

BERT with sparse attention: the same projections, of which query, key and value may lack biases.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import Part, composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels, one_label
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Layers, Linear, Module

_NAME = "BigBird"
_DEFAULTS = {
    **BASE, "vocab_size": 50358, "max_position_embeddings": 4096, "hidden_act": "gelu_new",
}  # fmt: skip


def attention(c: ModelConfig) -> Module:
    h, bias = hidden(c), c.flag("use_bias", default=True)
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    full = c.text("attention_type", default="block_sparse") == "original_full"
    projections = Module(
        "BigBirdSelfAttention" if full or encoders.is_cross(c) else "BigBirdBlockSparseAttention",
        query=Linear(h, h, bias=bias, kind="query"),
        key=Linear(h, h, bias=bias, kind="key"),
        value=Linear(h, h, bias=bias, kind="value"),
        dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.1)) if full else None,
    )
    return Module(
        "BigBirdAttention",
        {"self": projections, "output": encoders.self_output(c, _NAME)},
        component=Component.ATTENTION,
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    block = encoders.layer(c, _NAME, attention_block=attention(c), cross=True)
    if encoders.is_cross(c):
        block.children["crossattention"] = attention(c)
    pool = Linear(hidden(c), hidden(c), component=Component.HEAD, kind="pooler")
    return Module(
        "BigBirdModel",
        embeddings=encoders.embeddings(c, _NAME),
        encoder=Module("BigBirdEncoder", layer=Layers.of(c.count("num_hidden_layers"), block)),
        pooler=pool if pooling else None,
        activation=Activation("Tanh") if pooling else None,
    )


def _words(c: ModelConfig, *, sentences: bool = False) -> Module:
    table = "bert.embeddings.word_embeddings.weight"
    return encoders.bert_mlm_head(c, _NAME, table=table, sentences=sentences)


def _answers(c: ModelConfig) -> Module:
    return Module(
        "BigBirdForQuestionAnsweringHead",
        dropout=dropout(c),
        intermediate=_in_head(encoders.intermediate(c, _NAME)),
        output=_in_head(encoders.output(c, _NAME)),
        qa_outputs=classifier(hidden(c), 2),
        component=Component.HEAD,
        kind="classifier",
    )


def _in_head(module: Module) -> Module:
    # The answers' head ends in an MLP of its own: a part of the head, not of the layers.
    module.component = Component.HEAD
    return module


_WORDS: dict[str, Part] = {"bert": model, "cls": _words}
_CLASSES = composed(
    {
        "BigBirdForMaskedLM": _WORDS,
        "BigBirdModel": model,
        "BigBirdForPreTraining": {"bert": model, "cls": lambda c: _words(c, sentences=True)},
        "BigBirdForCausalLM": _WORDS,
        "BigBirdForSequenceClassification": {
            "bert": model,
            "classifier": lambda c: encoders.roberta_classifier(c, _NAME),
        },
        "BigBirdForMultipleChoice": {"bert": model, "dropout": dropout, "classifier": one_label},
        "BigBirdForTokenClassification": {"bert": model, "dropout": dropout, "classifier": labels},
        "BigBirdForQuestionAnswering": {
            "bert": lambda c: model(c, pooling=False),
            "qa_classifier": _answers,
        },
    }
)

register("big_bird", with_defaults(_DEFAULTS, _CLASSES), base_prefix="bert", category="encoder")
