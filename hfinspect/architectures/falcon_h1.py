"""Falcon-H1 (TII 2025). Source of shapes: transformers/models/falcon_h1/modeling_falcon_h1.py.

Every layer has attention and a Mamba 2 mixer side by side. The mixer's width is ``mamba_d_ssm``;
its gated norm is optional. The multipliers of the config are numbers, not tensors.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.mamba2_mixer import Mixer, expanded
from ..layers.mamba2_mixer import mixer as mamba_mixer
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="FalconH1RMSNorm")


def _inner(c: ModelConfig) -> Dim:
    """Absent is 1024; null means expand · hidden_size."""
    if "mamba_d_ssm" in c.values and not c.has("mamba_d_ssm"):
        return expanded(c, "mamba_expand", _hidden(c))
    return c.dim("mamba_d_ssm", default=1024)


def mixer(c: ModelConfig) -> Module:
    sizes = Mixer(
        hidden=_hidden(c),
        inner=_inner(c),
        heads=c.dim("mamba_n_heads", default=128),
        groups=c.dim("mamba_n_groups", default=1),
        state=c.dim("mamba_d_state", default=256),
        kernel=c.dim("mamba_d_conv", default=4),
        bias=c.flag("mamba_proj_bias", default=False),
        conv_bias=c.flag("mamba_conv_bias", default=True),
    )
    norm = "FalconH1RMSNormGated" if c.flag("mamba_rms_norm", default=False) else None
    act = c.text("hidden_act", default="silu")
    module = mamba_mixer("FalconH1Mixer", sizes, norm=norm, act=act)
    # The output has a switch of its own.
    bias = c.flag("projectors_bias", default=False)
    module.children["out_proj"] = Linear(sizes.inner, sizes.hidden, bias=bias)
    return module


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32, kv=8)
    bias = c.flag("attention_bias", default=False)
    return Module(
        "FalconH1DecoderLayer",
        feed_forward=gated_mlp(
            "FalconH1MLP",
            h,
            c.dim("intermediate_size", default=14336),
            bias=c.flag("mlp_bias", default=False),
            act=c.text("hidden_act", default="silu"),
        ),
        mamba=mixer(c),
        self_attn=grouped_attention("FalconH1Attention", h, heads, bias=bias),
        input_layernorm=_norm(c),
        pre_ff_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "FalconH1Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=128000), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        final_layernorm=_norm(c),
        rotary_emb=Activation("FalconH1RotaryEmbedding"),
    )


register(
    "falcon_h1",
    decoder_classes("FalconH1", model, hidden=_hidden, heads=()),
    base="FalconH1Model",
    base_prefix="model",
    category="text decoder",
)
