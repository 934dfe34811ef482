"""T5 and T5 v1.1 (Raffel et al. 2019), which has two input matrices in the MLP. Positions are
relative: a small table in the first layer of each stack (transformers/models/t5)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from ..layers.blocks import activation, rms_norms, size
from ..layers.composing import Classes, Form, composed, renamed_classes, with_defaults
from ..layers.heads import classifier, dense_classifier, to_words
from ..trees import Builder, Component, Dim, ModelConfig, register
from ..trees.modules import Dropout, Embedding, Layers, Linear, Module, ModuleList

_width = size("d_model", default=512)
vocab = size("vocab_size", default=32128)
_norms = rms_norms("T5LayerNorm", 1e-6, "layer_norm_epsilon")


def _dropout(c: ModelConfig, key: str = "dropout_rate", default: float = 0.1) -> Module:
    return Dropout(c.number(key, default=default))


def _linears(inputs: Dim, outputs: Dim, **kinds: str) -> dict[str, Module]:
    return {name: Linear(inputs, outputs, bias=False, kind=kind) for name, kind in kinds.items()}


def _attention(c: ModelConfig, *, positions: bool, saved: bool = True) -> Module:
    """``positions``: with a table of relative ones; not ``saved``, as only files hold it."""
    d = _width(c)
    heads = c.dim("num_heads", default=8)
    inner = heads * c.dim("d_kv", default=64)
    at = Component.ATTENTION
    buckets = c.dim("relative_attention_num_buckets", default=32)
    kind = "relative_position"
    table = Embedding(buckets, heads, component=at, kind=kind, saved=saved) if positions else None
    parts = _linears(d, inner, q="query", k="key", v="value") | _linears(inner, d, o="output")
    return Module("T5Attention", parts, relative_attention_bias=table, component=at)


def feed_forward(c: ModelConfig, act: str | None, *, gated: bool = False) -> Module:
    d = _width(c)
    inner = c.dim("d_ff", default=2048)
    ups = {"wi_0": "gate", "wi_1": "up"} if gated else {"wi": "up"}
    parts = _linears(d, inner, **ups) | _linears(inner, d, wo="down")
    parts |= {"dropout": _dropout(c), "act": activation(act)}
    return Module(f"T5Dense{'Gated' if gated else ''}ActDense", parts, component=Component.MLP)


def block(c: ModelConfig, *, decoder: bool, positions: bool, mlp: Module | None = None) -> Module:
    """Attention, with ``decoder`` attention to the encoder's output, and the MLP that
    ``feed_forward_proj`` says, or another under the name ``mlp``."""
    parts = {"SelfAttention": ("SelfAttention", _attention(c, positions=positions))}
    if decoder:
        # The first T5's files have a table here too, which nothing reads.
        across = _attention(c, positions=positions, saved=False)
        parts["CrossAttention"] = ("EncDecAttention", across)
    at = "mlp"
    if mlp is None:
        form = c.text("feed_forward_proj", default="relu") or "relu"
        act = "gelu_new" if form == "gated-gelu" else form.split("-")[-1]
        gated = c.flag("is_gated_act", default=form.split("-")[0] == "gated")
        at = "DenseReluDense"
        mlp = feed_forward(c, act, gated=gated)
    parts["FF"] = (at, mlp)
    norm = _norms(c, _width(c))
    layers = (
        Module(f"T5Layer{kind}", {name: part, "layer_norm": norm, "dropout": _dropout(c)})
        for kind, (name, part) in parts.items()
    )
    return Module("T5Block", layer=ModuleList(layers))


def stack(c: ModelConfig, *, decoder: bool = False, alone: bool = False) -> Module:
    """``alone``: an encoder without a decoder, which may have cross-attention all the same."""
    layers = usual = c.count("num_layers", default=6)
    if alone:
        decoder = c.flag("is_decoder", default=False)
    elif decoder:  # The config class takes no other spelling into account here.
        layers = c.count("num_decoder_layers", default=c.fields.count("num_layers", default=6))
    first, rest = (block(c, decoder=decoder, positions=positions) for positions in (True, False))
    blocks = Layers([first, *[rest] * (int(layers) - 1)] if layers else [])
    # A StaticCache has as many layers as the encoder.
    blocks.static = not decoder or int(layers) <= int(usual)
    words = table(c, tied_to="shared.weight")
    parts = {"embed_tokens": words, "block": blocks, "final_layer_norm": _norms(c, _width(c))}
    return Module("T5Stack", parts, dropout=_dropout(c))


def table(c: ModelConfig, *, tied_to: str | None = None) -> Module:
    return Embedding(vocab(c), _width(c), tied_to=tied_to)


def _labels(c: ModelConfig) -> Module:
    return classifier(_width(c), c.num_labels)


def _head(c: ModelConfig) -> Module:
    d = _width(c)
    return dense_classifier("T5ClassificationHead", d, d, c.num_labels, _drop(c))


_drop = partial(_dropout, key="classifier_dropout", default=0.0)
_MODEL: Form = {"shared": table, "encoder": stack, "decoder": partial(stack, decoder=True)}
_ENCODER: Form = {"shared": table, "encoder": partial(stack, alone=True)}
_BASES = composed({"T5Model": _MODEL, "T5EncoderModel": _ENCODER}, scope=True)
_whole, _encoder = _BASES.values()
_FORMS: dict[str, Builder | Form] = {
    # The class ties the head whatever tie_word_embeddings says (configuration_t5.py).
    "T5ForConditionalGeneration": {
        **_MODEL,
        "lm_head": lambda c: to_words(_width(c), vocab(c), "shared.weight"),
    },
    **_BASES,
    "T5ForSequenceClassification": {"transformer": _whole, "classification_head": _head},
    "T5ForTokenClassification": {"transformer": _encoder, "dropout": _drop, "classifier": _labels},
    "T5ForQuestionAnswering": {**_MODEL, "qa_outputs": _labels},
}
CLASSES = composed(_FORMS)


def register_kin(model_type: str, name: str, defaults: Mapping[str, Any], classes: Classes) -> None:
    kin = with_defaults(defaults, renamed_classes(classes, "T5", name))
    register(model_type, kin, category="encoder-decoder")


# The last is what the first files call it: t5-3b, t5-11b and what was trained from them.
_FIRST = {"T5WithLMHeadModel": CLASSES["T5ForConditionalGeneration"]}
register("t5", {**CLASSES, **_FIRST}, category="encoder-decoder")
