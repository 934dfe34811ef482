"""Bamba (IBM, Princeton, CMU, UIUC 2024). Source: transformers/models/bamba/modeling_bamba.py.

Mamba 2 layers, and attention in those that ``attn_layer_indices`` lists.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.mamba2_mixer import Mixer, expanded
from ..layers.mamba2_mixer import mixer as mamba_mixer
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="BambaRMSNorm")


def mixer(c: ModelConfig) -> Module:
    sizes = Mixer(
        hidden=_hidden(c),
        inner=expanded(c, "mamba_expand", _hidden(c)),
        heads=c.dim("mamba_n_heads", default=128),
        groups=c.dim("mamba_n_groups", default=1),
        state=c.dim("mamba_d_state", default=256),
        kernel=c.dim("mamba_d_conv", default=4),
        bias=c.flag("mamba_proj_bias", default=False),
        conv_bias=c.flag("mamba_conv_bias", default=True),
    )
    act = c.text("hidden_act", default="silu")
    return mamba_mixer("BambaMixer", sizes, norm="BambaRMSNormGated", act=act)


def layer(c: ModelConfig, *, attends: bool) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32, kv=8)
    bias = c.flag("attention_bias", default=False)
    return Module(
        "BambaDecoderLayer",
        feed_forward=gated_mlp(
            "BambaMLP",
            h,
            c.dim("intermediate_size", default=14336),
            bias=c.flag("mlp_bias", default=False),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        pre_ff_layernorm=_norm(c),
        mamba=None if attends else mixer(c),
        self_attn=grouped_attention("BambaAttention", h, heads, bias=bias) if attends else None,
    )


def model(c: ModelConfig) -> Module:
    attending = {int(i) for i in c.dims("attn_layer_indices", default=(), minimum=0)}
    kinds = [i in attending for i in range(int(c.count("num_hidden_layers", default=32)))]
    built = {kind: layer(c, attends=kind) for kind in set(kinds)}
    return Module(
        "BambaModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=128000), _hidden(c)),
        layers=Layers(built[kind] for kind in kinds),
        final_layernorm=_norm(c),
        rotary_emb=Activation("BambaRotaryEmbedding"),
    )


register(
    "bamba",
    decoder_classes("Bamba", model, hidden=_hidden, heads=()),
    base="BambaModel",
    base_prefix="model",
    category="text decoder",
)
