"""The layer of Swin, as files of the first release spell it: attention within windows, and an MLP.
Source: transformers/models/swin/modeling_swin.py.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.modules import LayerNorm, Linear, Module
from .blocks import activation
from .vision import scaled


def stage_layer(name: str, c: ModelConfig, width: Dim, attention: Module) -> Module:
    """A layer of Swin around its attention: 2·r·W² weights of its MLP, W² of the output."""
    inner = scaled(c, width, "mlp_ratio", default=4.0)
    eps = c.number("layer_norm_eps", default=1e-5)
    return Module(
        f"{name}Layer",
        layernorm_before=LayerNorm(width, eps=eps),
        attention=Module(
            f"{name}Attention",
            {
                "self": attention,
                "output": Module(f"{name}SelfOutput", dense=Linear(width, width, kind="output")),
            },
            component=Component.ATTENTION,
        ),
        layernorm_after=LayerNorm(width, eps=eps),
        intermediate=Module(
            f"{name}Intermediate",
            dense=Linear(width, inner, kind="up"),
            intermediate_act_fn=activation(c.text("hidden_act", default="gelu")),
            component=Component.MLP,
        ),
        output=Module(
            f"{name}Output", dense=Linear(inner, width, kind="down"), component=Component.MLP
        ),
    )
