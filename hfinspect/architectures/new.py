"""GTE v1.5 and multilingual under their first class (Zhang et al. 2024). transformers' ``gte`` is
the converted form. Source of shapes: modeling.py in Alibaba-NLP/new-impl.

GTE's tensors under the prefix ``new``; q, k and v may be apart (``pack_qkv``), positions learned.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, renamed, with_defaults
from ..layers.encoders import dropout, hidden, labels
from ..trees.catalog import builder, register
from ..trees.modules import Embedding, Linear, Module

_DEFAULTS = {
    "vocab_size": 30528, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "hidden_act": "gelu", "type_vocab_size": 1,
    "max_position_embeddings": 2048,
}  # fmt: skip


def _apart(c: ModelConfig, root: Module) -> None:
    """q, k and v as three matrices in every layer (the layers are one object)."""
    rows = root.inside("encoder", "layer")
    for layer in {id(row): row for row in rows.children.values()}.values():
        assert isinstance(layer, Module)
        attention = layer.inside("attention")
        h = hidden(c)
        kinds = {"q_proj": "query", "k_proj": "key", "v_proj": "value"}
        attention.children = {
            **{name: Linear(h, h, kind=kind) for name, kind in kinds.items()},
            "o_proj": attention["o_proj"],
        }


def model(c: ModelConfig, *, pooling: bool = False) -> Module:
    root = renamed(builder("GteModel")(c), "Gte", "New")
    if pooling:
        root.children["pooler"] = encoders.pooler(c, "New")
    if not c.flag("pack_qkv", default=True):
        _apart(c, root)
    if c.text("position_embedding_type", default="rope") == "absolute":
        tables = root.inside("embeddings")
        positions = c.dim("max_position_embeddings")
        tables.children["position_embeddings"] = Embedding(positions, hidden(c), kind="position")
    return root


def _pooled(c: ModelConfig) -> Module:
    return model(c, pooling=True)


def _head(c: ModelConfig) -> Module:
    head = builder("GteForMaskedLM")(c).inside("lm_head")
    head = renamed(head, "GteLMHead", "NewLMPredictionHead")
    table = "new.embeddings.word_embeddings.weight" if c.tied() else None
    vocab = c.dim("vocab_size")
    head.component = Component.HEAD
    head.children["decoder"] = Linear(hidden(c), vocab, tied_to=table, kind="lm_head")
    return head


_CLASSES = composed(
    {
        "NewModel": model,
        "NewForMaskedLM": {"new": model, "lm_head": _head},
        "NewForSequenceClassification": {"new": _pooled, "dropout": dropout, "classifier": labels},
        "NewForTokenClassification": {"new": model, "dropout": dropout, "classifier": labels},
        "NewForQuestionAnswering": {"new": model, "qa_outputs": labels},
    }
)

register(
    "new",
    with_defaults(_DEFAULTS, _CLASSES),
    base_prefix="new",
    category="encoder",
    source="modeling.py of Alibaba-NLP/new-impl; checked against transformers' gte",
)
