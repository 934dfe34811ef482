"""A.X K1 (SK Telecom 2026). Source of shapes: transformers/models/axk1/modeling_axk1.py.

DeepSeek-V3's latent attention and experts, with a norm after the experts that files hold
next to the MLP.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import layer_types
from ..layers.heads import decoder_classes
from ..layers.latent import latent_attention, latent_sizes
from ..layers.latent_decoders import Variant
from ..layers.latent_decoders import layer as decoder_layer
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module


def _attention(c: ModelConfig, hidden: Dim, _kind: str) -> Module:
    bias = c.flag("attention_bias", default=False)
    return latent_attention("AXK1", hidden, latent_sizes(c, heads=64), bias=bias)


_VARIANT = Variant(
    "AXK1",
    _attention,
    vocab=163840,
    hidden=7168,
    dense=18432,
    expert=2048,
    layers=61,
    experts=192,
    per_token=8,
    first=1,
)
_hidden = _VARIANT.width


def layer(c: ModelConfig, kind: str) -> Module:
    block = decoder_layer(_VARIANT, c, kind, "full")
    if kind == "sparse":
        block.children["post_mlp_layernorm"] = _VARIANT.norm(c, _hidden(c))
    return block


def layers(c: ModelConfig) -> Layers:
    dense = c.count("first_k_dense_replace", default=1)
    every = c.dim("moe_layer_freq", default=1)
    kinds = layer_types(
        c,
        c.count("num_hidden_layers", default=61),
        lambda i: "sparse" if i >= dense and i % every == 0 else "dense",
        key="mlp_layer_types",
    )
    built = {kind: layer(c, kind) for kind in set(kinds)}
    return Layers(built[kind] for kind in kinds)


def model(c: ModelConfig) -> Module:
    return Module(
        "AXK1Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=163840), _hidden(c)),
        layers=layers(c),
        norm=_VARIANT.norm(c, _hidden(c)),
        rotary_emb=Activation("AXK1RotaryEmbedding"),
    )


register(
    "axk1",
    decoder_classes(
        "AXK1", model, hidden=_hidden, heads=("ForSequenceClassification", "ForTokenClassification")
    ),
    base="AXK1Model",
    base_prefix="model",
    category="text decoder",
)
