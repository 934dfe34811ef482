"""EuroBERT (Boizard et al. 2025). Source of shapes: transformers/models/eurobert.

Llama's layers reading both ways, with BERT's tasks.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.composing import composed, with_defaults
from ..layers.encoders import hidden, labels, vocab
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, RMSNorm

_DEFAULTS = {
    "vocab_size": 128256, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
    "num_attention_heads": 12, "hidden_act": "silu",
}  # fmt: skip


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(hidden(c), eps=eps, class_name="EuroBertRMSNorm")


def layer(c: ModelConfig) -> Module:
    h = hidden(c)
    return Module(
        "EuroBertDecoderLayer",
        self_attn=grouped_attention(
            "EuroBertAttention",
            h,
            grouped_heads(c, h),
            bias=c.flag("attention_bias", default=False),
        ),
        mlp=gated_mlp(
            "EuroBertMLP",
            h,
            c.dim("intermediate_size"),
            bias=c.flag("mlp_bias", default=False),
            act=c.text("hidden_act"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "EuroBertModel",
        embed_tokens=Embedding(vocab(c), hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers"), layer(c)),
        norm=_norm(c),
        rotary_emb=Activation("EuroBertRotaryEmbedding"),
    )


def lm_head(c: ModelConfig) -> Module:
    return to_words(
        hidden(c),
        vocab(c),
        "model.embed_tokens.weight" if c.tied(default=False) else None,
        bias=c.flag("mlp_bias", default=False),
    )


def _dense(c: ModelConfig) -> Module:
    return Linear(hidden(c), hidden(c), component=Component.HEAD, kind="transform")


def _gelu(_: ModelConfig) -> Module:
    return Activation("GELU")


_CLASSES = composed(
    {
        "EuroBertForMaskedLM": {"model": model, "lm_head": lm_head},
        "EuroBertModel": model,
        "EuroBertForSequenceClassification": {
            "model": model,
            "dense": _dense,
            "activation": _gelu,
            "classifier": labels,
        },
        "EuroBertForTokenClassification": {"model": model, "classifier": labels},
    }
)

register(
    "eurobert",
    with_defaults(_DEFAULTS, _CLASSES),
    base="EuroBertModel",
    base_prefix="model",
    category="encoder",
)
