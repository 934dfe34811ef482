"""ModernBERT's decoder, Ettin (Weller et al. 2025). Source: transformers/models/modernbert_decoder.

ModernBERT's layers with q, k and v apart: without biases by default, gate and up in one matrix, the
first without a norm before attention, as the embeddings end with one. A transform (``lm_head``)
stands before the words (``decoder``).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.composing import composed, with_defaults
from ..layers.encoders import hidden, vocab
from ..layers.heads import classifier, to_words
from ..layers.vision import narrowed_attention
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Embedding, LayerNorm, Layers, Linear, Module

_NAME = "ModernBertDecoder"
_DEFAULTS = {
    "vocab_size": 50368, "hidden_size": 768, "intermediate_size": 1152, "num_hidden_layers": 22,
    "num_attention_heads": 12,
}  # fmt: skip


def _norm(c: ModelConfig) -> Module:
    bias = c.flag("norm_bias", default=False)
    return LayerNorm(hidden(c), eps=c.number("norm_eps", default=1e-5), bias=bias)


def _layers(c: ModelConfig) -> Layers:
    h, inner = hidden(c), c.dim("intermediate_size")
    bias, count = c.flag("mlp_bias", default=False), int(c.count("num_hidden_layers"))
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    attending = c.flag("attention_bias", default=False)
    mlp = Module(
        f"{_NAME}MLP",
        Wi=Linear(h, inner * 2, bias=bias, kind="gate_up"),
        act=activation(c.text("hidden_activation", default="gelu")),
        Wo=Linear(inner, h, bias=bias, kind="down"),
        component=Component.MLP,
    )
    first, later = (
        Module(
            f"{_NAME}Layer",
            attn_norm=before,
            attn=narrowed_attention(f"{_NAME}Attention", h, bias=attending, out="Wo"),
            mlp_norm=_norm(c),
            mlp=mlp,
        )
        for before in (Activation("Identity"), _norm(c))
    )
    # Half of ``local_attention``: the decoder looks back only.
    half = int(c.dim("local_attention", default=128, minimum=0)) // 2
    full = every(int(c.dim("global_attn_every_n_layers", default=3)), first=0)
    seen = windows(c.with_defaults(sliding_window=half), half, full)
    return Layers([first, *[later] * (count - 1)][:count], windows=seen)


def _model(c: ModelConfig) -> Module:
    embeddings = Module(
        f"{_NAME}Embeddings",
        tok_embeddings=Embedding(vocab(c), hidden(c)),
        norm=_norm(c),
        drop=Dropout(c.number("embedding_dropout", default=0.0)),
        component=Component.EMBEDDING,
    )
    return Module(f"{_NAME}Model", embeddings=embeddings, layers=_layers(c), final_norm=_norm(c))


def _transform(c: ModelConfig) -> Module:
    bias = c.flag("classifier_bias", default=False)
    return Module(
        f"{_NAME}PredictionHead",
        dense=Linear(hidden(c), hidden(c), bias=bias, kind="transform"),
        act=activation(c.text("classifier_activation", default="gelu")),
        norm=_norm(c),
        component=Component.HEAD,
    )


def _words(c: ModelConfig) -> Module:
    table = "model.embeddings.tok_embeddings.weight" if c.tied() else None
    return to_words(hidden(c), vocab(c), table, bias=c.flag("decoder_bias", default=True))


def _labels(c: ModelConfig) -> Module:
    bias = c.flag("classifier_bias", default=False)
    return classifier(hidden(c), c.num_labels, bias=bias)


_CLASSES = composed(
    {
        f"{_NAME}ForCausalLM": {"model": _model, "lm_head": _transform, "decoder": _words},
        f"{_NAME}Model": _model,
        f"{_NAME}ForSequenceClassification": {
            "model": _model, "head": _transform, "classifier": _labels,
        },
    }
)  # fmt: skip

register(
    "modernbert-decoder",
    with_defaults(_DEFAULTS, _CLASSES),
    base_prefix="model",
    category="text decoder",
)
