"""Mamba (Gu & Dao 2023; transformers/models/mamba)."""

from ..layers import named_decoder as s
from ..layers.blocks import activation, depthwise, rms_norms, size
from ..layers.mamba2_mixer import expanded
from ..trees import Component, Dim, Linear, ModelConfig, Module, State, Weight, named


def _inner(c: ModelConfig, h: Dim) -> Dim:
    """int(expand · hidden_size), unless the file gives it: expand may be fractional, or stale."""
    if c.has("intermediate_size"):
        return c.dim("intermediate_size")
    if not (width := expanded(c, "expand", h)):
        raise c.error("expand", c.raw("expand"), "a factor that leaves a width")
    return width


def time_step_rank(c: ModelConfig, h: Dim, key: str) -> Dim:
    """``auto`` is hidden_size / 16, rounded up."""
    if c.raw(key) in (None, "auto"):
        return named(-(-int(h) // 16), key, "hidden_size / 16, rounded up")
    return c.dim(key)


def selective(name: str, c: ModelConfig, h: Dim, inner: Dim, keys: tuple[str, ...]) -> Module:
    """The mixer. ``keys`` are those of rank, state, kernel, bias and the convolution's bias."""
    rank = time_step_rank(c, h, keys[0])
    bias = c.flag(keys[3], default=False)
    state = c.dim(keys[1], default=16)
    kernel = c.dim(keys[2], default=4)
    return Module(
        f"{name}Mixer",
        A_log=Weight(inner, state),
        D=Weight(inner),
        conv1d=depthwise(inner, kernel, bias=c.flag(keys[4], default=True)),
        act=activation(c.text("hidden_act", default="silu")),
        in_proj=Linear(h, inner * 2, bias=bias),
        x_proj=Linear(inner, rank + state * 2, bias=False),
        dt_proj=Linear(rank, inner),
        out_proj=Linear(inner, h, bias=bias),
        component=Component.SSM,
        cache=(State("recurrent", (inner, state), "F32"),),
    )


_KEYS = ("time_step_rank", "state_size", "conv_kernel", "use_bias", "use_conv_bias")
MAMBA = s.NamedDecoder(
    "Mamba",
    width=size("hidden_size", default=768),
    depth=size("num_hidden_layers", default=32),
    vocab=size("vocab_size", default=50280),
    inner=_inner,
    prefix="backbone",
    norms=rms_norms("MambaRMSNorm", 1e-5, "layer_norm_epsilon"),
    model={"embeddings": s.words, "layers": s.layers, "norm_f": s.norm},
    block={
        "norm": s.norm,
        "mixer": lambda d, c: selective(d.name, c, d.width(c), d.inner(c, d.width(c)), _KEYS),
    },
).register("mamba", heads=())
