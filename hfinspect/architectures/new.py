"""GTE v1.5 and multilingual under their first class (Zhang et al. 2024); transformers' ``gte`` is
the converted form."""

from functools import partial

from ..layers import encoders
from ..layers.composing import FormPart, composed, renamed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels, vocab
from ..layers.heads import to_words
from ..trees import Builder, Component, ModelConfig, builder, register
from ..trees.modules import Embedding, Linear, Module, each_module

_SIZES = {"vocab_size": 30528, "type_vocab_size": 1, "max_position_embeddings": 2048}


def model(c: ModelConfig, *, pooling: bool = False) -> Module:
    root = renamed(builder("GteModel")(c), "Gte", "New")
    root.adding(pooler=encoders.pooler(c, "New") if pooling else None)
    h = hidden(c)
    packed = c.flag("pack_qkv", default=True)
    kinds = {"q_proj": "query", "k_proj": "key", "v_proj": "value"}
    for block in list(each_module(root)):
        if "qkv_proj" in block.children and not packed:
            apart = {name: Linear(h, h, kind=kind) for name, kind in kinds.items()}
            block.children = {**apart, "o_proj": block["o_proj"]}
    if c.text("position_embedding_type", default="rope") == "absolute":
        positions = Embedding(c.dim("max_position_embeddings"), h, kind="position")
        root.inside("embeddings").adding(position_embeddings=positions)
    return root


_pooled = partial(model, pooling=True)


def _head(c: ModelConfig) -> Module:
    head = builder("GteForMaskedLM")(c).inside("lm_head")
    head.component = Component.HEAD
    table = "new.embeddings.word_embeddings.weight" if c.tied() else None
    words = to_words(hidden(c), vocab(c), table, bias=True)
    return head.called("NewLMPredictionHead").adding(decoder=words)


_CLASSES: dict[str, Builder | dict[str, FormPart]] = {
    "NewModel": model,
    "NewForMaskedLM": {"new": model, "lm_head": _head},
    "NewForSequenceClassification": {"new": _pooled, "dropout": dropout, "classifier": labels},
    "NewForTokenClassification": {"new": model, "dropout": dropout, "classifier": labels},
    "NewForQuestionAnswering": {"new": model, "qa_outputs": labels},
}
register(
    "new",
    with_defaults({**BASE, **_SIZES}, composed(_CLASSES)),
    base_prefix="new",
    category="encoder",
    source="modeling.py of Alibaba-NLP/new-impl; checked against transformers' gte",
)
