"""Reformer (Kitaev et al. 2020): reversible layers of local attention or of attention by hashing;
their two streams make everything after them twice as wide (transformers/models/reformer)."""

from ..core.library_versions import REVISED
from ..layers.blocks import activation, size
from ..layers.composing import Form, composed
from ..layers.heads import classifier, dense_classifier
from ..layers.named_decoder import layer_norms
from ..trees import Component, Embedding, Layers, Linear, ModelConfig, Module, Weight, register
from ..trees.cache_layout import Unknown
from ..trees.modules import once

_KINDS = {"local": "Local", "lsh": "LSH"}
_hidden = size("hidden_size", default=256)
_vocab = size("vocab_size", default=320)
_norm = layer_norms("layer_norm_eps", eps=1e-12)


def positions(c: ModelConfig) -> Module:
    """A table, or one weight per axis of a grid of positions, side by side."""
    if not c.flag("axial_pos_embds", default=True):
        count = c.dim("max_position_embeddings", default=4096)
        table = Embedding(count, _hidden(c), kind="position")
        return Module("PositionEmbeddings", embedding=table)
    shape = c.dims("axial_pos_shape", default=(64, 64))
    widths = c.dims("axial_pos_embds_dim", default=(64, 192), count=len(shape))
    weights = {
        str(at): Weight(*(size if other == at else 1 for other, size in enumerate(shape)), width)
        for at, width in enumerate(widths)
    }
    table = Module("ParameterList", weights)
    return Module("AxialPositionEmbeddings", weights=table, kind="position")


def layer(c: ModelConfig, kind: str) -> Module:
    h = _hidden(c)
    inner = c.dim("feed_forward_size", default=512)
    width = c.dim("num_attention_heads", default=12) * c.dim("attention_head_size", default=64)
    # Where it is hashed, queries are keys.
    kinds = {"query_key": "query"} if kind == "lsh" else {"query": "query", "key": "key"}
    kinds["value"] = "value"
    projections = {at: Linear(h, width, bias=False, kind=what) for at, what in kinds.items()}
    act = activation(c.text("hidden_act", default="relu"))
    attention = Module(
        "ReformerAttention",
        layer_norm=_norm(c, h),
        self_attention=Module(f"{_KINDS[kind]}SelfAttention", projections),
        output=Module("ReformerSelfOutput", dense=Linear(width, h, bias=False, kind="output")),
        component=Component.ATTENTION,
        cache=(Unknown("its attention keeps hidden states and buckets"),),
    )
    forward = Module(
        "ChunkReformerFeedForward",
        layer_norm=_norm(c, h),
        dense=Module("ReformerFeedForwardDense", act_fn=act, dense=Linear(h, inner, kind="up")),
        output=Module("ReformerFeedForwardOutput", dense=Linear(inner, h, kind="down")),
        component=Component.MLP,
    )
    return Module("ReformerLayer", attention=attention, feed_forward=forward)


def model(c: ModelConfig) -> Module:
    """num_hidden_layers may take fewer layers than are listed, or more of one kind."""
    h = _hidden(c)
    kinds = c.strings("attn_layers", default=("local", "lsh") * 3)
    for kind in kinds:
        if kind not in _KINDS:
            raise c.error("attn_layers", kind, "local or lsh")
    count = int(c.count("num_hidden_layers", default=len(kinds)))
    if count > len(kinds) and len(set(kinds)) != 1:
        raise c.error("num_hidden_layers", count, f"at most {len(kinds)}, as attn_layers lists")
    kinds = (*kinds, *kinds[:1] * (count - len(kinds)))[:count]
    tables = {"word_embeddings": Embedding(_vocab(c), h), "position_embeddings": positions(c)}
    embeddings = Module("ReformerEmbeddings", tables, component=Component.EMBEDDING)
    stack = Layers(once(kinds, lambda kind: layer(c, kind)))
    encoder = Module("ReformerEncoder", layers=stack, layer_norm=_norm(c, 2 * h))
    return Module("ReformerModel", embeddings=embeddings, encoder=encoder)


def _words(c: ModelConfig) -> Module:
    # Since the release REVISED a second one, of the matrix, is saved next to the head's own bias.
    two = not c.saved_between("0", REVISED)
    words = Linear(2 * _hidden(c), _vocab(c), bias=two, kind="lm_head")
    bias = Weight(_vocab(c), kind="lm_head")
    return Module("ReformerOnlyLMHead", decoder=words, bias=bias, component=Component.HEAD)


_FORMS: dict[str, Form] = {
    "ModelWithLMHead": {"lm_head": _words},
    "ForMaskedLM": {"lm_head": _words},
    "ForSequenceClassification": {
        "classifier": lambda c: dense_classifier(
            "ReformerClassificationHead", 2 * _hidden(c), _hidden(c), c.num_labels
        )
    },
    "ForQuestionAnswering": {"qa_outputs": lambda c: classifier(2 * _hidden(c), c.num_labels)},
}
_HEADS = composed({f"Reformer{end}": {"reformer": model, **form} for end, form in _FORMS.items()})
register(
    "reformer", {**_HEADS, "ReformerModel": model}, base_prefix="reformer", category="text decoder"
)
