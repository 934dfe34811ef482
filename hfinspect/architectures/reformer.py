"""Reformer (Kitaev et al. 2020). Source of shapes: transformers/models/reformer.

Reversible layers of local attention or of attention by hashing (where queries and keys are one),
factored positions; the two streams make everything after the layers twice as wide.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.composing import Part, composed
from ..layers.heads import classifier, dense_classifier
from ..trees.catalog import register
from ..trees.keeps import Unknown
from ..trees.modules import Embedding, LayerNorm, Layers, Linear, Module, Weight

_KINDS = {"local": "Local", "lsh": "LSH"}
_hidden = size("hidden_size", default=256)


def _norm(c: ModelConfig, size: int) -> Module:
    return LayerNorm(size, eps=c.number("layer_norm_eps", default=1e-12))


def positions(c: ModelConfig) -> Module:
    """A table, or one weight per axis of a grid of positions, side by side."""
    if not c.flag("axial_pos_embds", default=True):
        count = c.dim("max_position_embeddings", default=4096)
        table = Embedding(count, _hidden(c), kind="position")
        return Module("PositionEmbeddings", embedding=table)
    shape = c.dims("axial_pos_shape", default=(64, 64))
    widths = c.dims("axial_pos_embds_dim", default=(64, 192))
    if len(shape) != len(widths):
        raise c.error("axial_pos_embds_dim", len(widths), f"a width for each of {len(shape)} axes")
    weights = {
        str(at): Weight(*(size if other == at else 1 for other, size in enumerate(shape)), width)
        for at, width in enumerate(widths)
    }
    table = Module("ParameterList", weights)
    return Module("AxialPositionEmbeddings", weights=table, kind="position")


def attention(c: ModelConfig, kind: str) -> Module:
    h = _hidden(c)
    heads = c.dim("num_attention_heads", default=12)
    width = heads * c.dim("attention_head_size", default=64)
    # Where it is hashed, queries are keys.
    named = {"query_key": "query"} if kind == "lsh" else {"query": "query", "key": "key"}
    projections = {
        at: Linear(h, width, bias=False, kind=what)
        for at, what in {**named, "value": "value"}.items()
    }
    output = Linear(width, h, bias=False, kind="output")
    return Module(
        "ReformerAttention",
        layer_norm=_norm(c, h),
        self_attention=Module(f"{_KINDS[kind]}SelfAttention", dict(projections)),
        output=Module("ReformerSelfOutput", dense=output),
        component=Component.ATTENTION,
        keeps=(Unknown("its attention keeps hidden states and buckets"),),
    )


def feed_forward(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("feed_forward_size", default=512)
    act = activation(c.text("hidden_act", default="relu"))
    up, down = Linear(h, inner, kind="up"), Linear(inner, h, kind="down")
    return Module(
        "ChunkReformerFeedForward",
        layer_norm=_norm(c, h),
        dense=Module("ReformerFeedForwardDense", act_fn=act, dense=up),
        output=Module("ReformerFeedForwardOutput", dense=down),
        component=Component.MLP,
    )


def _kinds(c: ModelConfig) -> tuple[str, ...]:
    """The kind of each layer; num_hidden_layers may take fewer of them, or more of one kind."""
    kinds = c.strings("attn_layers", default=("local", "lsh") * 3)
    for kind in kinds:
        if kind not in _KINDS:
            raise c.error("attn_layers", kind, "local or lsh")
    count = int(c.count("num_hidden_layers", default=len(kinds)))
    if count > len(kinds) and len(set(kinds)) != 1:
        raise c.error("num_hidden_layers", count, f"at most {len(kinds)}, as attn_layers lists")
    return (*kinds, *kinds[:1] * (count - len(kinds)))[:count]


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    kinds = _kinds(c)
    layers = {
        kind: Module("ReformerLayer", attention=attention(c, kind), feed_forward=feed_forward(c))
        for kind in dict.fromkeys(kinds)
    }
    embeddings = Module(
        "ReformerEmbeddings",
        word_embeddings=Embedding(c.dim("vocab_size", default=320), h),
        position_embeddings=positions(c),
        component=Component.EMBEDDING,
    )
    stack = Layers(layers[kind] for kind in kinds)
    encoder = Module("ReformerEncoder", layers=stack, layer_norm=_norm(c, 2 * h))
    return Module("ReformerModel", embeddings=embeddings, encoder=encoder)


def _words(c: ModelConfig) -> Module:
    vocab = c.dim("vocab_size", default=320)
    return Module(
        "ReformerOnlyLMHead",
        decoder=Linear(2 * _hidden(c), vocab, bias=False, kind="lm_head"),
        bias=Weight(vocab, kind="lm_head"),
        component=Component.HEAD,
    )


def _labels(c: ModelConfig) -> Module:
    h = _hidden(c)
    return dense_classifier("ReformerClassificationHead", 2 * h, h, c.num_labels)


_FORMS: dict[str, dict[str, Part]] = {
    "ModelWithLMHead": {"lm_head": _words},
    "ForMaskedLM": {"lm_head": _words},
    "ForSequenceClassification": {"classifier": _labels},
    "ForQuestionAnswering": {"qa_outputs": lambda c: classifier(2 * _hidden(c), c.num_labels)},
}
_CLASSES = {f"Reformer{ending}": {"reformer": model, **form} for ending, form in _FORMS.items()}
register(
    "reformer", composed({**_CLASSES, "ReformerModel": model}), base_prefix="reformer",
    category="text decoder",
)  # fmt: skip
