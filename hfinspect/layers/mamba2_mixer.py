"""The mixer of Mamba 2 (Dao & Gu 2024), which hybrid models share.

One input projection gives the gate, the convolved stream with the state matrices B and C (shared by
groups of heads) and a time step per head; A and D are one number per head.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..core.records import dataclass
from ..trees.keeps import State
from ..trees.modules import Conv, Linear, Module, Weight
from .blocks import activation


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
        keeps=(State("recurrent", (m.inner, m.state), "F32"),),
    )


def bamba_sizes(c: ModelConfig, hidden: Dim, inner: Dim | None = None) -> Mixer:
    """The sizes under Bamba's keys; without ``inner`` mamba_expand · hidden."""
    return Mixer(
        hidden=hidden,
        inner=expanded(c, "mamba_expand", hidden) if inner is None else inner,
        heads=c.dim("mamba_n_heads", default=128),
        groups=c.dim("mamba_n_groups", default=1),
        state=c.dim("mamba_d_state", default=256),
        kernel=c.dim("mamba_d_conv", default=4),
        bias=c.flag("mamba_proj_bias", default=False),
        conv_bias=c.flag("mamba_conv_bias", default=True),
    )


def expanded(c: ModelConfig, key: str, hidden: Dim) -> Dim:
    """int(expand · hidden_size): expand may be fractional."""
    expand = c.number(key, default=2)
    if expand == int(expand):
        return c.dim(key, default=2) * hidden
    return named(int(expand * hidden), "intermediate_size", f"int({key} · hidden_size)")
