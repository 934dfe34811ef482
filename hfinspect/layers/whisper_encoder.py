"""Whisper's encoder, which audio towers of many models share."""

from __future__ import annotations

from ..trees import Component, Dim, ModelConfig
from ..trees.modules import Activation, Conv, Embedding, LayerNorm, Layers, Linear, Module
from .blocks import activation
from .vision import clip_attention


def width(c: ModelConfig) -> Dim:
    """D: the width of the encoder."""
    return c.dim("d_model", "hidden_size", default=1280)


def encoder(name: str, c: ModelConfig, *, pooled: bool = False) -> Module:
    """Two convolutions over mel features, learned positions and the layers; ``pooled``: frames
    are averaged in pairs. A layer has 4·D² + 2·D·I weights, and no bias on the keys."""
    d = width(c)
    positions = c.dim("max_source_positions", default=1500)
    inner = c.dim("encoder_ffn_dim", "intermediate_size", default=5120)
    layer = Module(
        f"{name}EncoderLayer",
        self_attn=clip_attention(f"{name}Attention", d, key_bias=False),
        self_attn_layer_norm=LayerNorm(d),
        activation_fn=activation(c.text("activation_function", default="gelu")),
        fc1=Linear(d, inner, component=Component.MLP, kind="up"),
        fc2=Linear(inner, d, component=Component.MLP, kind="down"),
        final_layer_norm=LayerNorm(d),
    )
    heads = "encoder_attention_heads", "num_attention_heads"
    c.divided(d, c.dim(*heads, default=20), "d_model", heads[0])
    return Module(
        f"{name}Encoder",
        conv1=Conv(c.dim("num_mel_bins", default=128), d, 3, dims=1),
        conv2=Conv(d, d, 3, dims=1, stride=2),
        embed_positions=Embedding(positions, d, kind="position"),
        layers=Layers.of(c.count("encoder_layers", "num_hidden_layers", default=32), layer),
        layer_norm=LayerNorm(d),
        avg_pooler=Activation("AvgPool1d") if pooled else None,
        part="audio",
    )
