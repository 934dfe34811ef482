"""XGLM (Lin et al. 2021). Source of shapes: transformers/models/xglm/modeling_xglm.py.

Pre-norm decoder with biases; positions are sinusoids, which older files hold as a table.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.heads import decoder_classes
from ..layers.vision import clip_attention
from ..trees.catalog import register
from ..trees.modules import Buffer, Embedding, LayerNorm, Layers, Linear, Module

_hidden = size("d_model", "hidden_size", default=1024)


def attention(c: ModelConfig) -> Module:
    h, heads = _hidden(c), c.dim("attention_heads", "num_attention_heads", default=16)
    c.divided(h, heads, "d_model", "attention_heads")
    return clip_attention("XGLMAttention", h)


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("ffn_dim", default=4096)
    cross = c.flag("add_cross_attention", default=False)
    return Module(
        "XGLMDecoderLayer",
        self_attn=attention(c),
        activation_fn=activation(c.text("activation_function", default="gelu")),
        encoder_attn=attention(c) if cross else None,
        encoder_attn_layer_norm=LayerNorm(h) if cross else None,
        self_attn_layer_norm=LayerNorm(h),
        fc1=Linear(h, inner, component=Component.MLP, kind="up"),
        fc2=Linear(inner, h, component=Component.MLP, kind="down"),
        final_layer_norm=LayerNorm(h),
    )


def model(c: ModelConfig) -> Module:
    h, vocab = _hidden(c), c.dim("vocab_size", default=256008)
    positions = c.dim("max_position_embeddings", default=2048)
    return Module(
        "XGLMModel",
        embed_tokens=Embedding(vocab, h, class_name="XGLMScaledWordEmbedding"),
        embed_positions=Module(
            "XGLMSinusoidalPositionalEmbedding",
            weights=Buffer(positions + 2, h, saved=False),
            component=Component.EMBEDDING,
            kind="position",
        ),
        layers=Layers.of(c.count("num_layers", "num_hidden_layers", default=24), layer(c)),
        layer_norm=LayerNorm(h),
    )


_CLASSES = decoder_classes("XGLM", model, tied_default=True, heads=())
register("xglm", _CLASSES, base_prefix="model", category="text decoder")
