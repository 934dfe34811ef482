"""ModernBERT's decoder, Ettin (Weller et al. 2025). Source: transformers/models/modernbert_decoder.

ModernBERT's layers with q, k and v apart; a transform (``lm_head``) before the words (``decoder``).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.heads import classifier, to_words
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Windows,
)


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    bias = c.flag("norm_bias", default=False)
    return LayerNorm(_hidden(c), eps=c.number("norm_eps", default=1e-5), bias=bias)


def attention(c: ModelConfig) -> Module:
    h, bias = _hidden(c), c.flag("attention_bias", default=False)
    c.divided(h, c.dim("num_attention_heads", default=12), "hidden_size", "num_attention_heads")
    return Module(
        "ModernBertDecoderAttention",
        q_proj=Linear(h, h, bias=bias, kind="query"),
        k_proj=Linear(h, h, bias=bias, kind="key"),
        v_proj=Linear(h, h, bias=bias, kind="value"),
        Wo=Linear(h, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig, *, first: bool) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=1152)
    bias = c.flag("mlp_bias", default=False)
    return Module(
        "ModernBertDecoderLayer",
        attn_norm=Activation("Identity") if first else _norm(c),
        attn=attention(c),
        mlp_norm=_norm(c),
        mlp=Module(
            "ModernBertDecoderMLP",
            Wi=Linear(h, inner * 2, bias=bias, kind="gate_up"),
            act=activation(c.text("hidden_activation", default="gelu")),
            Wo=Linear(inner, h, bias=bias, kind="down"),
            component=Component.MLP,
        ),
    )


def _windows(c: ModelConfig) -> Windows:
    """Half of ``local_attention``: the decoder looks back only."""
    half = int(c.dim("local_attention", default=128, minimum=0)) // 2
    full = every(int(c.dim("global_attn_every_n_layers", default=3)), first=0)
    return windows(c.with_defaults(sliding_window=half), half, full)


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers", default=22))
    rest = layer(c, first=False)
    return Module(
        "ModernBertDecoderModel",
        embeddings=Module(
            "ModernBertDecoderEmbeddings",
            tok_embeddings=Embedding(c.dim("vocab_size", default=50368), _hidden(c)),
            norm=_norm(c),
            drop=Dropout(c.number("embedding_dropout", default=0.0)),
            component=Component.EMBEDDING,
        ),
        layers=Layers(
            [layer(c, first=True), *[rest] * (count - 1)] if count else [],
            windows=_windows(c),
        ),
        final_norm=_norm(c),
    )


def _transform(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "ModernBertDecoderPredictionHead",
        dense=Linear(h, h, bias=c.flag("classifier_bias", default=False), kind="transform"),
        act=activation(c.text("classifier_activation", default="gelu")),
        norm=_norm(c),
        component=Component.HEAD,
    )


def causal(c: ModelConfig) -> Module:
    table = "model.embeddings.tok_embeddings.weight"
    return Module(
        "ModernBertDecoderForCausalLM",
        model=model(c),
        lm_head=_transform(c),
        decoder=to_words(
            _hidden(c),
            c.dim("vocab_size", default=50368),
            table if c.tied() else None,
            bias=c.flag("decoder_bias", default=True),
        ),
    )


def sequence(c: ModelConfig) -> Module:
    bias = c.flag("classifier_bias", default=False)
    return Module(
        "ModernBertDecoderForSequenceClassification",
        model=model(c),
        head=_transform(c),
        classifier=classifier(_hidden(c), c.num_labels, bias=bias),
    )


register(
    "modernbert-decoder",
    {
        "ModernBertDecoderForCausalLM": causal,
        "ModernBertDecoderModel": model,
        "ModernBertDecoderForSequenceClassification": sequence,
    },
    base_prefix="model",
    category="text decoder",
)
