"""Phi-3-small (Abdin et al. 2024). No class in transformers. Source of shapes:
modeling_phi3_small.py in microsoft/Phi-3-small-8k-instruct; vLLM's phi3_small.py reads the same
names.

Grouped queries with q, k and v in one matrix, a gated MLP whose gate and up projection alternate in
one, biases and LayerNorms throughout.  Block-sparse attention has no tensors.
"""

from math import isfinite

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import size
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Dropout, Embedding, LayerNorm, Layers, Linear, Module

#: A hundred times any real expansion ratio.
_MAX_RATIO = 1000


_hidden = size("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_epsilon", default=1e-5))


def _inner(c: ModelConfig) -> Dim:
    """ff_intermediate_size, or hidden_size times ff_dim_multiplier where that is said."""
    if not c.has("ff_dim_multiplier"):
        return c.dim("ff_intermediate_size", default=14336)
    ratio = c.number("ff_dim_multiplier", default=4)
    if not (isfinite(ratio) and 0 < ratio <= _MAX_RATIO):
        raise c.error("ff_dim_multiplier", ratio, f"above 0 and at most {_MAX_RATIO}")
    return named(
        int(ratio * int(_hidden(c))), "intermediate_size", f"{ratio:g} times hidden_size"
    )  # fmt: skip


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), _inner(c)
    heads = c.dim("num_attention_heads", default=32)
    kv = c.dim("num_key_value_heads", default=8)
    head = c.divided(h, heads, "hidden_size", "num_attention_heads")
    return Module(
        "Phi3SmallDecoderLayer",
        self_attn=Module(
            "Phi3SmallSelfAttention",
            query_key_value=Linear(h, (heads + 2 * kv) * head, kind="qkv"),
            dense=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            "Phi3SmallMLP",
            up_proj=Linear(h, 2 * inner, kind="gate_up"),
            down_proj=Linear(inner, h, kind="down"),
            dropout=Dropout(c.number("ffn_dropout_prob", default=0.1)),
            component=Component.MLP,
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "Phi3SmallModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=100352), _hidden(c)),
        embedding_dropout=Dropout(c.number("embedding_dropout_prob", default=0.1)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        final_layernorm=_norm(c),
    )


_classes = decoder_classes(
    "Phi3Small", model, hidden=_hidden, tied_default=True, heads=("ForSequenceClassification",)
)

register(
    "phi3small",
    _classes,
    base_prefix="model",
    category="text decoder",
    source="modeling_phi3_small.py of microsoft/Phi-3-small-8k-instruct",
)
