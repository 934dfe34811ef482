"""Mamba (Gu & Dao 2023). Source of shapes: transformers/models/mamba/modeling_mamba.py.

No attention: a block is a norm and a selective state-space mixer of width E = expand·H.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import activation
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.keeps import State
from ..trees.modules import Conv, Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("layer_norm_epsilon", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="MambaRMSNorm")


def inner_width(c: ModelConfig) -> Dim:
    """int(expand · hidden_size), unless the file gives it: expand may be fractional, or stale."""
    if c.has("intermediate_size"):
        return c.dim("intermediate_size")
    expand = c.number("expand", default=2)
    h = _hidden(c)
    if expand == int(expand):
        return c.dim("expand", default=2) * h
    return named(int(expand * h), "intermediate_size", "int(expand · hidden_size)")


def time_step_rank(c: ModelConfig) -> Dim:
    """``auto`` is hidden_size / 16, rounded up."""
    if c.raw("time_step_rank") in (None, "auto"):
        return named(-(-int(_hidden(c)) // 16), "time_step_rank", "hidden_size / 16, rounded up")
    return c.dim("time_step_rank")


def mixer(c: ModelConfig) -> Module:
    h, inner, rank = _hidden(c), inner_width(c), time_step_rank(c)
    state = c.dim("state_size", default=16)
    kernel = c.dim("conv_kernel", default=4)
    bias = c.flag("use_bias", default=False)
    return Module(
        "MambaMixer",
        A_log=Weight(inner, state),
        D=Weight(inner),
        conv1d=Conv(
            inner, inner, kernel, dims=1, groups=inner,
            bias=c.flag("use_conv_bias", default=True), component=None,
        ),
        act=activation(c.text("hidden_act", default="silu")),
        in_proj=Linear(h, inner * 2, bias=bias),
        x_proj=Linear(inner, rank + state * 2, bias=False),
        dt_proj=Linear(rank, inner),
        out_proj=Linear(inner, h, bias=bias),
        component=Component.SSM,
        keeps=(State("recurrent", (inner, state), "F32"),),
    )  # fmt: skip


def model(c: ModelConfig) -> Module:
    block = Module("MambaBlock", norm=_norm(c), mixer=mixer(c))
    return Module(
        "MambaModel",
        embeddings=Embedding(c.dim("vocab_size", default=50280), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), block),
        norm_f=_norm(c),
    )


_CLASSES = decoder_classes(
    "Mamba", model, prefix="backbone", embedding="embeddings", tied_default=True, heads=()
)
register("mamba", _CLASSES, base_prefix="backbone", category="text decoder")
