"""The layer of Whisper's encoder, which audio towers of many models share."""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.modules import (
    LayerNorm,
    Linear,
    Module,
)
from .blocks import activation


def width(c: ModelConfig) -> Dim:
    """D: the width of the encoder."""
    return c.dim("d_model", "hidden_size", default=1280)


def encoder_layer(name: str, c: ModelConfig) -> Module:
    """Attention without a bias on the keys, and a plain MLP: 4·D² + 2·D·I weights."""
    d, inner = width(c), c.dim("encoder_ffn_dim", "intermediate_size", default=5120)
    return Module(
        f"{name}EncoderLayer",
        self_attn=Module(
            f"{name}Attention",
            k_proj=Linear(d, d, bias=False, kind="key"),
            v_proj=Linear(d, d, kind="value"),
            q_proj=Linear(d, d, kind="query"),
            out_proj=Linear(d, d, kind="output"),
            component=Component.ATTENTION,
        ),
        self_attn_layer_norm=LayerNorm(d),
        activation_fn=activation(c.text("activation_function", default="gelu")),
        fc1=Linear(d, inner, component=Component.MLP, kind="up"),
        fc2=Linear(inner, d, component=Component.MLP, kind="down"),
        final_layer_norm=LayerNorm(d),
    )
