"""StarCoder2 (Lozhkov et al. 2024). Source: transformers/models/starcoder2/modeling_starcoder2.py.

Grouped queries and rotary positions, a two-matrix MLP, LayerNorms, biases throughout.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, LayerNorm, Layers, Linear, Module


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=3072)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("norm_epsilon", default=1e-5))


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=12288)
    bias = c.flag("use_bias", default=True)
    heads = grouped_heads(c, h, heads=24, kv=2)
    return Module(
        "Starcoder2DecoderLayer",
        self_attn=grouped_attention("Starcoder2Attention", h, heads, bias=bias),
        mlp=Module(
            "Starcoder2MLP",
            c_fc=Linear(h, inner, bias=bias, kind="up"),
            c_proj=Linear(inner, h, bias=bias, kind="down"),
            act=activation(c.text("hidden_act", default="gelu_pytorch_tanh")),
            component=Component.MLP,
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "Starcoder2Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=49152), _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=30), layer(c), windows=windows(c, None)
        ),
        norm=_norm(c),
        rotary_emb=Activation("Starcoder2RotaryEmbedding"),
    )


register(
    "starcoder2",
    decoder_classes(
        "Starcoder2", model, hidden=_hidden, tied_default=True,
        heads=("ForSequenceClassification", "ForTokenClassification"),
    ),
    base="Starcoder2Model",
    base_prefix="model",
    category="text decoder",
)  # fmt: skip
