"""ModernBERT (Warner et al. 2024). Source: transformers/models/modernbert/modeling_modernbert.py.

Pre-norm layers without biases by default; one fused projection for query, key and value, one for
gate and up.  The first layer has no norm before attention: the embeddings end with one.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.blocks import activation, layer_types
from ..layers.composing import composed, with_defaults
from ..layers.encoders import hidden, vocab
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Embedding, LayerNorm, Layers, Linear, Module

DEFAULTS = {
    "vocab_size": 50368, "hidden_size": 768, "intermediate_size": 1152, "num_hidden_layers": 22,
    "num_attention_heads": 12,
}  # fmt: skip


def norm(c: ModelConfig) -> Module:
    bias = c.flag("norm_bias", default=False)
    return LayerNorm(hidden(c), eps=c.number("norm_eps", default=1e-5), bias=bias)


def _dropout(c: ModelConfig, key: str) -> Module:
    return Dropout(c.number(key, default=0.0))


def _attention(c: ModelConfig) -> Module:
    h, bias = hidden(c), c.flag("attention_bias", default=False)
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    return Module(
        "ModernBertAttention",
        Wqkv=Linear(h, 3 * h, bias=bias, kind="qkv"),
        Wo=Linear(h, h, bias=bias, kind="output"),
        out_drop=_dropout(c, "attention_dropout"),
        component=Component.ATTENTION,
    )


def layers(c: ModelConfig, name: str, attention: Module, drop: Module | None) -> list[Module]:
    """``name`` ends in Encoder or Decoder in the classes of layers; ``drop``: within the MLP."""
    h, inner = hidden(c), c.dim("intermediate_size")
    bias, count = c.flag("mlp_bias", default=False), int(c.count("num_hidden_layers"))
    mlp = Module(
        f"{name}MLP",
        Wi=Linear(h, inner * 2, bias=bias, kind="gate_up"),
        act=activation(c.text("hidden_activation", default="gelu")),
        drop=drop,
        Wo=Linear(inner, h, bias=bias, kind="down"),
        component=Component.MLP,
    )
    of_layer = f"{name}Layer" if name.endswith("Decoder") else f"{name}EncoderLayer"
    first, later = (
        Module(of_layer, attn_norm=before, attn=attention, mlp_norm=norm(c), mlp=mlp)
        for before in (Activation("Identity"), norm(c))
    )
    return [first, *[later] * (count - 1)][:count]


def embeddings(c: ModelConfig, name: str) -> Module:
    return Module(
        f"{name}Embeddings",
        tok_embeddings=Embedding(vocab(c), hidden(c)),
        norm=norm(c),
        drop=_dropout(c, "embedding_dropout"),
        component=Component.EMBEDDING,
    )


def model(c: ModelConfig) -> Module:
    layer_types(c, c.count("num_hidden_layers"), lambda _: "full_attention")
    drop = _dropout(c, "mlp_dropout")
    return Module(
        "ModernBertModel",
        embeddings=embeddings(c, "ModernBert"),
        layers=Layers(layers(c, "ModernBert", _attention(c), drop)),
        final_norm=norm(c),
        rotary_emb=Activation("ModernBertRotaryEmbedding"),
    )


def transform(c: ModelConfig, name: str) -> Module:
    bias = c.flag("classifier_bias", default=False)
    return Module(
        f"{name}PredictionHead",
        dense=Linear(hidden(c), hidden(c), bias=bias),
        act=activation(c.text("classifier_activation", default="gelu")),
        norm=norm(c),
        component=Component.HEAD,
        kind="transform",
    )


def _head(c: ModelConfig) -> Module:
    return transform(c, "ModernBert")


def decoder(c: ModelConfig) -> Module:
    return to_words(
        hidden(c),
        vocab(c),
        "model.embeddings.tok_embeddings.weight" if c.tied() else None,
        bias=c.flag("decoder_bias", default=True),
    )


def _drop(c: ModelConfig) -> Module:
    return _dropout(c, "classifier_dropout")


_CLASSIFIER = {"model": model, "head": _head, "drop": _drop, "classifier": encoders.labels}
_CLASSES = composed(
    {
        "ModernBertForMaskedLM": {"model": model, "head": _head, "decoder": decoder},
        "ModernBertModel": model,
        "ModernBertForSequenceClassification": _CLASSIFIER,
        "ModernBertForTokenClassification": _CLASSIFIER,
        "ModernBertForQuestionAnswering": _CLASSIFIER,
        "ModernBertForMultipleChoice": {**_CLASSIFIER, "classifier": encoders.one_label},
    }
)

register("modernbert", with_defaults(DEFAULTS, _CLASSES), base_prefix="model", category="encoder")
