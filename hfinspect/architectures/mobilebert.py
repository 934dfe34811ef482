"""MobileBERT (Sun et al. 2020). Source: transformers/models/mobilebert/modeling_mobilebert.py.

Thin layers between bottlenecks that narrow the hidden size and widen it again, several MLPs to a
layer; word embeddings are narrow and taken in threes; norms are scales and shifts (``NoNorm``).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import encoders
from ..layers.bert_encoders import Encoder, pre_training, usual_model
from ..layers.blocks import activation
from ..layers.encoders import hidden, vocab
from ..trees.modules import Dropout, Embedding, LayerNorm, Linear, Module, ModuleList
from .bert import BERT

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
    linear = Linear(inputs, outputs, kind=kind)
    return Module(name, dense=linear, LayerNorm=_norm(c, outputs), component=component)


def _tables(e: Encoder, c: ModelConfig) -> Module:
    h, narrow = hidden(c), c.dim("embedding_size")
    seen = narrow * 3 if c.flag("trigram_input", default=True) else narrow
    widened = Linear(seen, h, kind="token")
    block = encoders.embeddings(c, e.name, more={"embedding_transformation": widened})
    block.children |= {
        "word_embeddings": Embedding(vocab(c), narrow),
        "LayerNorm": _norm(c, h),
        "dropout": Dropout(c.number("hidden_dropout_prob", default=0.0)),
    }
    return block


def _attention(c: ModelConfig) -> Module:
    inside, heads = _inside(c), c.dim("num_attention_heads")
    c.divided(inside, heads, "the layers' hidden size", "num_attention_heads")
    seen = inside if c.flag("use_bottleneck_attention", default=False) else hidden(c)
    projections = Module(
        "MobileBertSelfAttention",
        query=Linear(inside, inside, kind="query"),
        key=Linear(inside, inside, kind="key"),
        value=Linear(seen, inside, kind="value"),
        dropout=Dropout(c.number("attention_probs_dropout_prob", default=0.1)),
    )
    output = _dense(c, "MobileBertSelfOutput", inside, inside, kind="output")
    parts = {"self": projections, "output": output}
    return Module("MobileBertAttention", parts, component=Component.ATTENTION)


def _intermediate(c: ModelConfig) -> Module:
    return Module(
        "MobileBertIntermediate",
        dense=Linear(_inside(c), c.dim("intermediate_size"), kind="up"),
        intermediate_act_fn=activation(c.text("hidden_act")),
        component=Component.MLP,
    )


def _bottleneck(c: ModelConfig) -> Module:
    def narrow(component: Component) -> Module:
        size = c.dim("intra_bottleneck_size")
        return _dense(c, "BottleneckLayer", hidden(c), size, component=component)

    shared = c.flag("key_query_shared_bottleneck", default=True)
    attention = narrow(Component.ATTENTION) if shared else None
    return Module("Bottleneck", input=narrow(Component.MLP), attention=attention)


def _layer(_e: Encoder, c: ModelConfig) -> Module:
    inside, inner = _inside(c), c.dim("intermediate_size")
    output = _dense(c, "MobileBertOutput", inner, inside, kind="down", component=Component.MLP)
    if _narrowed(c):
        output.children["bottleneck"] = _dense(c, "OutputBottleneck", inside, hidden(c))
    more = c.count("num_feedforward_networks", default=4, minimum=1) - 1
    down = _dense(c, "FFNOutput", inner, inside, kind="down")
    ffn = Module("FFNLayer", intermediate=_intermediate(c), output=down, component=Component.MLP)
    return Module(
        "MobileBertLayer",
        attention=_attention(c),
        intermediate=_intermediate(c),
        output=output,
        bottleneck=_bottleneck(c) if _narrowed(c) else None,
        ffn=ModuleList([ffn] * int(more)) if more else None,
    )


def _whole(e: Encoder, c: ModelConfig) -> Module:
    root, pooler = usual_model(e, c), "pooler"
    if pooler in root.children:
        dense = Linear(hidden(c), hidden(c))
        own = dense if c.flag("classifier_activation", default=True) else None
        root.children[pooler] = Module(
            "MobileBertPooler", dense=own, component=Component.HEAD, kind=pooler
        )
    return root


def _words(e: Encoder, c: ModelConfig) -> Module:
    """The words' vectors are the narrow embeddings and a table of what they lack (``dense``)."""
    h, narrow = hidden(c), c.dim("embedding_size")
    if narrow > h:
        raise c.error("embedding_size", int(narrow), f"at most hidden_size = {int(h)}")
    head = encoders.bert_mlm_head(c, e.name, table=e.table)
    factored = encoders.bert_predictions(c, e.name, table=e.table, width=narrow)
    parts = head.inside("predictions").children
    del parts["decoder"]
    parts["dense"] = Linear(vocab(c), h - narrow, bias=False, kind="lm_head")
    parts["decoder"] = factored["decoder"]
    return head


_MOBILE = BERT.like(
    "MobileBert", "mobilebert", defaults=_DEFAULTS, embeddings=_tables, layer=_layer, words=_words,
    whole=_whole,
)  # fmt: skip
_MOBILE.register("mobilebert", more=pre_training(_MOBILE))
