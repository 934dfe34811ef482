"""XLM (Lample and Conneau 2019). Source of shapes: transformers/models/xlm/modeling_xlm.py.

Post-norm layers whose parts stand in four parallel lists; a table of languages where there are
several.  The adaptive softmax (``asm``) that no released model has is not described.
"""

from collections.abc import Mapping

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.blocks import size, two_layer_mlp
from ..layers.composing import Part, composed
from ..layers.heads import beam_answers, classifier
from ..trees.catalog import register
from ..trees.modules import Buffer, Dropout, Embedding, LayerNorm, Layers, Linear, Module

_width = size("emb_dim", "hidden_size", default=2048)
_vocab = size("vocab_size", "n_words", default=30145)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_width(c), eps=c.number("layer_norm_eps", default=1e-12))


def attention(c: ModelConfig) -> Module:
    d = _width(c)
    heads = c.dim("n_heads", "num_attention_heads", default=16)
    c.divided(d, heads, "emb_dim", "n_heads")
    kinds = {"q": "query", "k": "key", "v": "value", "out": "output"}
    projections = {f"{name}_lin": Linear(d, d, kind=kind) for name, kind in kinds.items()}
    return Module("MultiHeadAttention", projections, component=Component.ATTENTION)


def model(c: ModelConfig) -> Module:
    d, positions = _width(c), c.dim("max_position_embeddings", default=512)
    layers = c.count("n_layers", "num_hidden_layers", default=12)
    languages = c.dim("n_langs", default=1)
    told = languages > 1 and c.flag("use_lang_emb", default=True)
    norm = _norm(c)
    return Module(
        "XLMModel",
        position_embeddings=Embedding(positions, d, kind="position"),
        lang_embeddings=Embedding(languages, d, kind="segment") if told else None,
        embeddings=Embedding(_vocab(c), d),
        layer_norm_emb=norm,
        attentions=Layers.of(layers, attention(c)),
        layer_norm1=Layers.of(layers, norm),
        ffns=Layers.of(layers, two_layer_mlp("TransformerFFN", d, d * 4, names=("lin1", "lin2"))),
        layer_norm2=Layers.of(layers, norm),
        # Older files hold the positions 0..n-1 as a tensor.
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
    )


def words(c: ModelConfig) -> Module:
    if c.flag("asm", default=False):
        raise c.error("asm", True, "false: the adaptive softmax is not described")
    tied_to = "transformer.embeddings.weight" if c.tied() else None
    proj = Linear(_width(c), _vocab(c), tied_to=tied_to, kind="lm_head")
    return Module("XLMPredLayer", proj=proj, component=Component.HEAD)


def answers(c: ModelConfig) -> Module:
    """Beam-search head: where an answer starts, where it ends given that, whether there is one."""
    heads = beam_answers("XLM", _width(c), _norm(c))
    return Module("XLMSQuADHead", {**heads}, component=Component.HEAD, kind="classifier")


def _summary(c: ModelConfig) -> Module:
    return encoders.sequence_summary(c, "XLM", size=_width(c), project=True, to_labels=True)


def labels(c: ModelConfig) -> Module:
    return classifier(_width(c), c.num_labels)


_FORMS: dict[str, Mapping[str, Part]] = {
    "WithLMHeadModel": {"pred_layer": words},
    "Model": {},
    "ForSequenceClassification": {"sequence_summary": _summary},
    "ForQuestionAnsweringSimple": {"qa_outputs": labels},
    "ForQuestionAnswering": {"qa_outputs": answers},
    "ForTokenClassification": {
        "dropout": lambda c: Dropout(c.number("dropout", default=0.1)), "classifier": labels,
    },
    "ForMultipleChoice": {
        "sequence_summary": _summary, "logits_proj": lambda c: classifier(c.num_labels, 1),
    },
}  # fmt: skip
CLASSES = composed(
    {
        f"XLM{name}": {"transformer": model, **form} if form else model
        for name, form in _FORMS.items()
    }
)

register("xlm", CLASSES, base="XLMModel", base_prefix="transformer", category="encoder")
