"""The mixer of Mamba 2 (Dao & Gu 2024), which hybrid models share.

One input projection gives the gate, the convolved stream with the state matrices B and C (shared by
groups of heads) and a time step per head; A and D are one number per head.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..core.records import dataclass
from ..trees import Component, Conv, Dim, Linear, ModelConfig, Module, State, Weight, named
from .blocks import Size, activation, size
from .named_decoder import flagged


@dataclass(frozen=True)
class Mixer:
    """Sizes of a family's mixers: heads n, groups g, state N, kernel k and how often the inner
    width E is the hidden one; the keys are Bamba's unless others are given."""

    heads: Size = size("mamba_n_heads", default=128)
    groups: Size = size("mamba_n_groups", default=1)
    state: Size = size("mamba_d_state", default=256)
    kernel: Size = size("mamba_d_conv", default=4)
    expand: str = "mamba_expand"
    bias: Callable[[ModelConfig], bool] = flagged("mamba_proj_bias")
    conv_bias: Callable[[ModelConfig], bool] = flagged("mamba_conv_bias", default=True)

    def __call__(
        self,
        class_name: str,
        c: ModelConfig,
        hidden: Dim,
        *,
        norm: str | None,
        inner: Dim | None = None,
        act: str | None = "silu",
    ) -> Module:
        """in: H·(2·E + 2·g·N + n), convolution: (E + 2·g·N)·k, out: E·H, and 3·n scalars.

        ``norm``: class of the gated norm of width E, None where the model has none.
        """
        heads = self.heads(c)
        state = self.state(c)
        bias = self.bias(c)
        width = expanded(c, self.expand, hidden) if inner is None else inner
        convolved = width + 2 * self.groups(c) * state
        return Module(
            class_name,
            dt_bias=Weight(heads),
            A_log=Weight(heads),
            D=Weight(heads),
            act=activation(act),
            conv1d=Conv(
                convolved,
                convolved,
                self.kernel(c),
                dims=1,
                groups=convolved,
                bias=self.conv_bias(c),
                component=None,
            ),
            in_proj=Linear(hidden, width + convolved + heads, bias=bias),
            norm=Module(norm, weight=Weight(width), component=Component.NORM) if norm else None,
            out_proj=Linear(width, hidden, bias=bias),
            component=Component.SSM,
            cache=(State("recurrent", (width, state), "F32"),),
        )


#: The mixer under Bamba's keys.
mixer: Final = Mixer()


def expanded(c: ModelConfig, key: str, hidden: Dim) -> Dim:
    """int(expand · hidden_size): expand may be fractional."""
    expand = c.number(key, default=2)
    if expand == int(expand):
        return c.dim(key, default=2) * hidden
    return named(int(expand * hidden), "intermediate_size", f"int({key} · hidden_size)")
