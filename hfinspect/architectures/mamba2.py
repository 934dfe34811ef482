"""Mamba 2 (Dao & Gu 2024). Source of shapes: transformers/models/mamba2/modeling_mamba2.py.

One input projection gives the gate, the convolved stream x with the state matrices B and C (shared
by groups of heads) and a time step per head; A and D are one number per head. Hybrid models use the
same mixer under their own names.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import activation
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.modules import Conv, Embedding, Layers, Linear, Module, RMSNorm, Weight


@dataclass(frozen=True)
class Mixer:
    """Sizes of a Mamba 2 mixer: inner width E, heads n, groups g, state N, convolution kernel."""

    hidden: Dim
    inner: Dim
    heads: Dim
    groups: Dim
    state: Dim
    kernel: Dim
    bias: bool
    conv_bias: bool


def mixer(class_name: str, m: Mixer, *, norm: str | None, act: str | None = "silu") -> Module:
    """in: H·(2·E + 2·g·N + n), convolution: (E + 2·g·N)·k, out: E·H, and 3·n scalars.

    ``norm``: class of the gated norm of width E, None where the model has none.
    """
    convolved = m.inner + 2 * m.groups * m.state
    gated = Module(norm, weight=Weight(m.inner), component=Component.NORM) if norm else None
    return Module(
        class_name,
        dt_bias=Weight(m.heads),
        A_log=Weight(m.heads),
        D=Weight(m.heads),
        act=activation(act),
        conv1d=Conv(
            convolved,
            convolved,
            m.kernel,
            dims=1,
            groups=convolved,
            bias=m.conv_bias,
            component=None,
        ),
        in_proj=Linear(m.hidden, m.inner + convolved + m.heads, bias=m.bias),
        norm=gated,
        out_proj=Linear(m.inner, m.hidden, bias=m.bias),
        component=Component.SSM,
    )


def expanded(c: ModelConfig, key: str, hidden: Dim, default: int = 2) -> Dim:
    """int(expand · hidden_size): expand may be fractional."""
    expand = c.number(key, default=default)
    if expand == int(expand):
        return c.dim(key, default=default) * hidden
    return named(int(expand * hidden), "intermediate_size", f"int({key} · hidden_size)")


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("layer_norm_epsilon", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="Mamba2RMSNorm")


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    sizes = Mixer(
        hidden=h,
        inner=expanded(c, "expand", h),
        heads=c.dim("num_heads", default=128),
        groups=c.dim("n_groups", default=8),
        state=c.dim("state_size", default=128),
        kernel=c.dim("conv_kernel", default=4),
        bias=c.flag("use_bias", default=False),
        conv_bias=c.flag("use_conv_bias", default=True),
    )
    act = c.text("hidden_act", default="silu")
    block = Module(
        "Mamba2Block",
        norm=_norm(c),
        mixer=mixer("Mamba2Mixer", sizes, norm="MambaRMSNormGated", act=act),
    )
    return Module(
        "Mamba2Model",
        embeddings=Embedding(c.dim("vocab_size", default=32768), h),
        layers=Layers.of(c.count("num_hidden_layers", default=64), block),
        norm_f=_norm(c),
    )


register(
    "mamba2",
    {
        "Mamba2ForCausalLM": causal_lm(
            "Mamba2ForCausalLM", model, prefix="backbone", embedding="embeddings"
        ),
        "Mamba2Model": model,
    },
    base="Mamba2Model",
    base_prefix="backbone",
    # state-spaces/mamba2-*: the first release's spelling.
    aliases={"backbone.embedding.": "backbone.embeddings."},
    category="text decoder",
)
