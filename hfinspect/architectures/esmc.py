"""ESM Cambrian (EvolutionaryScale 2024). Source: transformers/models/esmc/modeling_esmc.py.

A pre-norm encoder of proteins: gated MLP, norms over all queries and keys together, rotary
positions.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads, size
from ..layers.composing import composed
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Embedding, LayerNorm, Layers, Linear, Module

_hidden = size("hidden_size", default=2560)


def _norm(c: ModelConfig, *, bias: bool = True) -> Module:
    return LayerNorm(_hidden(c), bias=bias, class_name="EsmcLayerNorm")


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=6912)
    act = c.text("hidden_act", default="silu")
    return Module(
        "EsmcLayer",
        self_attn=grouped_attention(
            "EsmcAttention",
            h,
            grouped_heads(c, h, heads=40),
            bias=c.flag("attention_bias", default=False),
            norms=lambda: {"q_norm": _norm(c, bias=False), "k_norm": _norm(c, bias=False)},
        ),
        mlp=gated_mlp("EsmcMLP", h, inner, bias=c.flag("mlp_bias", default=False), act=act),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "EsmcModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=64), _hidden(c)),
        rotary_emb=Activation("EsmcRotaryEmbedding"),
        layers=Layers.of(c.count("num_hidden_layers", default=80), layer(c)),
        norm=_norm(c, bias=False),
    )


def lm_head(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "EsmcMaskedLMHead",
        dense=Linear(h, h, kind="transform"),
        layer_norm=LayerNorm(h),
        decoder=Linear(h, c.dim("vocab_size", default=64), kind="lm_head"),
        component=Component.HEAD,
    )


def _classifier(c: ModelConfig) -> Module:
    return Module(
        "EsmcClassificationHead",
        dense=Linear(_hidden(c), _hidden(c)),
        dropout=Dropout(c.number("classifier_dropout", default=0.1)),
        out_proj=Linear(_hidden(c), c.num_labels),
        component=Component.HEAD,
        kind="classifier",
    )


def _score(c: ModelConfig) -> Module:
    bias = c.flag("token_classification_bias", default=True)
    return classifier(_hidden(c), c.num_labels, bias=bias)


register(
    "esmc",
    composed(
        {
            "EsmcForMaskedLM": {"esmc": model, "lm_head": lm_head},
            "EsmcModel": model,
            "EsmcForSequenceClassification": {"esmc": model, "classifier": _classifier},
            "EsmcForTokenClassification": {
                "esmc": model,
                "dropout": lambda _: Dropout(0.1),
                "score": _score,
            },
        }
    ),
    base_prefix="esmc",
    category="encoder",
)
