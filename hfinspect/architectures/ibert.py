"""I-BERT (Kim et al. 2021). Source of shapes: transformers/models/ibert.

RoBERTa that can compute in integers: next to every matrix and table stand its integer form and
scale, next to every result the range seen so far, all as buffers.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.blocks import activation
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, dropout, hidden, usual_classes
from ..trees.catalog import register
from ..trees.modules import Buffer, Dropout, Layers, Module, Parameter, Weight

_NAME = "IBert"
_BERT = "ibert"


def _act() -> Module:
    return Module("QuantAct", x_min=Buffer(1), x_max=Buffer(1), act_scaling_factor=Buffer(1))


def _table(rows: Dim, h: Dim, kind: str) -> Module:
    return Module(
        "QuantEmbedding",
        weight=Weight(rows, h),
        weight_scaling_factor=Buffer(1),
        weight_integer=Buffer(rows, h),
        component=Component.EMBEDDING,
        kind=kind,
    )


def _linear(inputs: Dim, outputs: Dim, kind: str) -> Module:
    return Module(
        "QuantLinear",
        weight=Parameter((outputs, inputs)),
        weight_integer=Buffer(outputs, inputs),
        fc_scaling_factor=Buffer(outputs),
        bias=Parameter((outputs,)),
        bias_integer=Buffer(outputs),
        kind=kind,
    )


def _norm(c: ModelConfig) -> Module:
    return Module(
        "IntLayerNorm",
        weight=Weight(hidden(c)),
        bias=Weight(hidden(c)),
        shift=Buffer(1),
        activation=_act(),
        component=Component.NORM,
    )


def embeddings(c: ModelConfig) -> Module:
    h, positions = hidden(c), c.dim("max_position_embeddings")
    return Module(
        "IBertEmbeddings",
        word_embeddings=_table(c.dim("vocab_size"), h, "token"),
        token_type_embeddings=_table(c.dim("type_vocab_size"), h, "segment"),
        position_embeddings=_table(positions, h, "position"),
        embeddings_act1=_act(),
        embeddings_act2=_act(),
        LayerNorm=_norm(c),
        output_activation=_act(),
        dropout=dropout(c),
        # Older files hold the positions 0..n-1 as a tensor.
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def _result(c: ModelConfig, name: str, inputs: Dim, kind: str, component: Component) -> Module:
    return Module(
        name,
        dense=_linear(inputs, hidden(c), kind),
        ln_input_act=_act(),
        LayerNorm=_norm(c),
        output_activation=_act(),
        dropout=dropout(c),
        component=component,
    )


def layer(c: ModelConfig) -> Module:
    h, inner = hidden(c), c.dim("intermediate_size")
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    projections = Module(
        "IBertSelfAttention",
        query=_linear(h, h, "query"),
        key=_linear(h, h, "key"),
        value=_linear(h, h, "value"),
        query_activation=_act(),
        key_activation=_act(),
        value_activation=_act(),
        output_activation=_act(),
        dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.1)),
        softmax=Module("IntSoftmax", act=_act()),
    )
    output = _result(c, "IBertSelfOutput", h, "output", Component.ATTENTION)
    return Module(
        "IBertLayer",
        attention=Module(
            "IBertAttention",
            {"self": projections, "output": output},
            component=Component.ATTENTION,
        ),
        intermediate=Module(
            "IBertIntermediate",
            dense=_linear(h, inner, "up"),
            intermediate_act_fn=activation(c.text("hidden_act")),
            output_activation=_act(),
            component=Component.MLP,
        ),
        output=_result(c, "IBertOutput", inner, "down", Component.MLP),
        pre_intermediate_act=_act(),
        pre_output_act=_act(),
    )


def bare(c: ModelConfig) -> Module:
    layers = Layers.of(c.count("num_hidden_layers"), layer(c))
    return Module(
        "IBertModel", embeddings=embeddings(c), encoder=Module("IBertEncoder", layer=layers)
    )


def model(c: ModelConfig) -> Module:
    built = bare(c)
    built.children["pooler"] = encoders.pooler(c, _NAME)
    return built


def _words(c: ModelConfig) -> Module:
    table = f"{_BERT}.embeddings.word_embeddings.weight"
    return encoders.roberta_lm_head(c, _NAME, table=table)


def _classifier(c: ModelConfig) -> Module:
    return encoders.roberta_classifier(c, _NAME)


register(
    "ibert",
    with_defaults(
        BASE,
        usual_classes(
            _NAME,
            _BERT,
            model,
            bare=bare,
            more={
                "ForMaskedLM": {_BERT: bare, "lm_head": _words},
                "ForSequenceClassification": {_BERT: bare, "classifier": _classifier},
            },
        ),
    ),
    base="IBertModel",
    base_prefix=_BERT,
    category="encoder",
)
