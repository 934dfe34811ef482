"""Granite 4 (IBM 2025).

Source of shapes: transformers/models/granitemoehybrid/modeling_granitemoehybrid.py.
Most layers have a Mamba 2 mixer in place of attention. Every layer has a dense (shared) MLP, and
experts next to it where ``num_local_experts`` is not 0.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, layer_types
from ..layers.heads import decoder_classes
from ..layers.mamba2_mixer import Mixer, expanded
from ..layers.mamba2_mixer import mixer as mamba_mixer
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module
from .granitemoe import attention, hidden, moe, norm

_NAME = "GraniteMoeHybrid"
#: Files of the first release say "mamba", newer ones "linear_attention".
_MAMBA = ("linear_attention", "mamba")


def mixer(c: ModelConfig) -> Module:
    sizes = Mixer(
        hidden=hidden(c),
        inner=expanded(c, "mamba_expand", hidden(c)),
        heads=c.dim("mamba_n_heads", default=128),
        groups=c.dim("mamba_n_groups", default=1),
        state=c.dim("mamba_d_state", default=256),
        kernel=c.dim("mamba_d_conv", default=4),
        bias=c.flag("mamba_proj_bias", default=False),
        conv_bias=c.flag("mamba_conv_bias", default=True),
    )
    act = c.text("hidden_act", default="silu")
    return mamba_mixer(f"{_NAME}MambaLayer", sizes, norm=f"{_NAME}RMSNormGated", act=act)


def shared_mlp(c: ModelConfig) -> Module:
    h, inner = hidden(c), c.dim("shared_intermediate_size", default=1024)
    experts = c.count("num_local_experts", default=8)
    return Module(
        f"{_NAME}MLP",
        activation=activation(c.text("hidden_act", default="silu")),
        input_linear=Linear(h, inner * 2, bias=False),
        output_linear=Linear(inner, h, bias=False),
        component=Component.MLP,
        kind="shared_expert" if experts else None,
    )


def layer(c: ModelConfig, kind: str) -> Module:
    mamba = kind in _MAMBA
    return Module(
        f"{_NAME}DecoderLayer",
        self_attn=None if mamba else attention(c, _NAME),
        input_layernorm=norm(c, _NAME),
        post_attention_layernorm=norm(c, _NAME),
        block_sparse_moe=moe(c, _NAME) if c.count("num_local_experts", default=8) else None,
        shared_mlp=shared_mlp(c),
        mamba=mixer(c) if mamba else None,
    )


def model(c: ModelConfig) -> Module:
    count = c.count("num_hidden_layers", default=32)
    key = "layer_types" if c.has("layer_types") else "layers_block_type"
    kinds = layer_types(c, count, lambda _: "linear_attention", key=key)
    built = {kind: layer(c, kind) for kind in set(kinds)}
    return Module(
        f"{_NAME}Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), hidden(c)),
        layers=Layers(built[kind] for kind in kinds),
        norm=norm(c, _NAME),
        rotary_emb=Activation(f"{_NAME}RotaryEmbedding"),
    )


register(
    "granitemoehybrid",
    decoder_classes(_NAME, model, hidden=hidden, heads=()),
    base=f"{_NAME}Model",
    base_prefix="model",
    category="text decoder",
)
