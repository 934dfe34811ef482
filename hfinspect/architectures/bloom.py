"""BLOOM (Le Scao et al. 2022). Source of shapes: transformers/models/bloom/modeling_bloom.py.

Pre-norm decoder with a norm after the embedding; ALiBi positions have no tensors. q, k and v are
one matrix, and every linear has a bias.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import size
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Embedding, LayerNorm, Layers, Linear, Module

_hidden = size("n_embed", "hidden_size", default=64)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_epsilon", default=1e-5))


def block(c: ModelConfig) -> Module:
    h = _hidden(c)
    c.divided(h, c.dim("n_head", "num_attention_heads", default=8), "hidden_size", "n_head")
    return Module(
        "BloomBlock",
        input_layernorm=_norm(c),
        self_attention=Module(
            "BloomAttention",
            query_key_value=Linear(h, 3 * h, kind="qkv"),
            dense=Linear(h, h, kind="output"),
            attention_dropout=Dropout(c.number("attention_dropout", default=0.0)),
            component=Component.ATTENTION,
        ),
        post_attention_layernorm=_norm(c),
        mlp=Module(
            "BloomMLP",
            dense_h_to_4h=Linear(h, 4 * h, kind="up"),
            gelu_impl=Activation("BloomGelu"),
            dense_4h_to_h=Linear(4 * h, h, kind="down"),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "BloomModel",
        word_embeddings=Embedding(c.dim("vocab_size", default=250880), _hidden(c)),
        word_embeddings_layernorm=_norm(c),
        h=Layers.of(c.count("n_layer", "num_hidden_layers", default=2), block(c)),
        ln_f=_norm(c),
    )


_CLASSES = decoder_classes(
    "Bloom", model, prefix="transformer", embedding="word_embeddings", hidden=_hidden,
    tied_default=True, labeller="classifier",
)  # fmt: skip
register("bloom", _CLASSES, base_prefix="transformer", category="text decoder")
