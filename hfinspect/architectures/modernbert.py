"""ModernBERT (Warner et al. 2024). Source: transformers/models/modernbert/modeling_modernbert.py.

Pre-norm layers without biases by default; one fused projection for query, key and value, one for
gate and up.  The first layer has no norm before attention: the embeddings end with one.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.blocks import activation
from ..layers.composing import composed, with_defaults
from ..layers.encoders import hidden, vocab
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Embedding, LayerNorm, Layers, Linear, Module

_DEFAULTS = {
    "vocab_size": 50368, "hidden_size": 768, "intermediate_size": 1152, "num_hidden_layers": 22,
    "num_attention_heads": 12,
}  # fmt: skip


def _norm(c: ModelConfig) -> Module:
    bias = c.flag("norm_bias", default=False)
    return LayerNorm(hidden(c), eps=c.number("norm_eps", default=1e-5), bias=bias)


def _dropout(c: ModelConfig, key: str) -> Module:
    return Dropout(c.number(key, default=0.0))


def attention(c: ModelConfig) -> Module:
    h, bias = hidden(c), c.flag("attention_bias", default=False)
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    return Module(
        "ModernBertAttention",
        Wqkv=Linear(h, 3 * h, bias=bias, kind="qkv"),
        Wo=Linear(h, h, bias=bias, kind="output"),
        out_drop=_dropout(c, "attention_dropout"),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig, *, first: bool) -> Module:
    h, inner = hidden(c), c.dim("intermediate_size")
    bias = c.flag("mlp_bias", default=False)
    return Module(
        "ModernBertEncoderLayer",
        attn_norm=Activation("Identity") if first else _norm(c),
        attn=attention(c),
        mlp_norm=_norm(c),
        mlp=Module(
            "ModernBertMLP",
            Wi=Linear(h, inner * 2, bias=bias, kind="gate_up"),
            act=activation(c.text("hidden_activation", default="gelu")),
            drop=_dropout(c, "mlp_dropout"),
            Wo=Linear(inner, h, bias=bias, kind="down"),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    count = c.count("num_hidden_layers")
    types = c.strings("layer_types", default=["full_attention"] * int(count))
    if len(types) != count:
        raise c.error("layer_types", f"{len(types)} entries", f"one per layer: {int(count)}")
    rest = layer(c, first=False)
    layers = [layer(c, first=True), *[rest] * (int(count) - 1)] if count else []
    return Module(
        "ModernBertModel",
        embeddings=Module(
            "ModernBertEmbeddings",
            tok_embeddings=Embedding(vocab(c), hidden(c)),
            norm=_norm(c),
            drop=_dropout(c, "embedding_dropout"),
            component=Component.EMBEDDING,
        ),
        layers=Layers(layers),
        final_norm=_norm(c),
        rotary_emb=Activation("ModernBertRotaryEmbedding"),
    )


def head(c: ModelConfig) -> Module:
    bias = c.flag("classifier_bias", default=False)
    return Module(
        "ModernBertPredictionHead",
        dense=Linear(hidden(c), hidden(c), bias=bias),
        act=activation(c.text("classifier_activation", default="gelu")),
        norm=_norm(c),
        component=Component.HEAD,
        kind="transform",
    )


def decoder(c: ModelConfig) -> Module:
    return to_words(
        hidden(c),
        vocab(c),
        "model.embeddings.tok_embeddings.weight" if c.tied() else None,
        bias=c.flag("decoder_bias", default=True),
    )


def _drop(c: ModelConfig) -> Module:
    return _dropout(c, "classifier_dropout")


_CLASSIFIER = {"model": model, "head": head, "drop": _drop, "classifier": encoders.labels}
_CLASSES = composed(
    {
        "ModernBertForMaskedLM": {"model": model, "head": head, "decoder": decoder},
        "ModernBertModel": model,
        "ModernBertForSequenceClassification": _CLASSIFIER,
        "ModernBertForTokenClassification": _CLASSIFIER,
        "ModernBertForQuestionAnswering": _CLASSIFIER,
        "ModernBertForMultipleChoice": {**_CLASSIFIER, "classifier": encoders.one_label},
    }
)

register("modernbert", with_defaults(_DEFAULTS, _CLASSES), base_prefix="model", category="encoder")
