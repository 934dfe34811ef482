"""What families share: attention with grouped heads, plain and gated MLPs, experts.

A family takes from here what it shares to the letter and writes out what it doesn't.
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.config import MAX_COUNT
from ..core.records import dataclass
from ..trees import Component, Dim, KeysValues, ModelConfig
from ..trees.modules import Activation, Conv, Linear, Module, Parameter, RMSNorm, Weight

#: Class names that print(model) shows for an activation (transformers/activations.py, ACT2CLS).
_ACTIVATIONS = {
    "gelu": "GELUActivation",
    "gelu_10": "ClippedGELUActivation",
    "gelu_fast": "FastGELUActivation",
    "gelu_new": "NewGELUActivation",
    "gelu_python": "GELUActivation",
    "gelu_pytorch_tanh": "GELUTanh",
    "gelu_python_tanh": "GELUTanh",
    "gelu_accurate": "AccurateGELUActivation",
    "hardswish": "Hardswish",
    "laplace": "LaplaceActivation",
    "leaky_relu": "LeakyReLU",
    "linear": "LinearActivation",
    "mish": "MishActivation",
    "quick_gelu": "QuickGELUActivation",
    "relu": "ReLU",
    "relu2": "ReLUSquaredActivation",
    "relu6": "ReLU6",
    "sigmoid": "Sigmoid",
    "silu": "SiLUActivation",
    "swish": "SiLU",
    "tanh": "Tanh",
}


def activation(name: str | None) -> Module:
    """The activation module that a config's name stands for; tensors it has none."""
    return Activation(_ACTIVATIONS.get(name or "", name or "Identity"))


@dataclass(frozen=True)
class Size:
    """What reads the size under ``keys``; ``default`` is the config class's own."""

    keys: tuple[str, ...]
    default: int

    def __call__(self, c: ModelConfig) -> Dim:
        return c.dim(*self.keys, default=self.default)

    def key(self, c: ModelConfig) -> str:
        """The spelling that the config has."""
        return next((key for key in self.keys if c.has(key)), self.keys[0])


def size(*keys: str, default: int) -> Size:
    """What reads the size under ``keys``."""
    return Size(keys, default)


def rms_norms(
    class_name: str, eps: float, key: str = "rms_norm_eps"
) -> Callable[[ModelConfig, int], Module]:
    """What makes a family's norms of a width; ``eps`` is its default of ``key``."""
    return lambda c, width: RMSNorm(width, eps=c.number(key, default=eps), class_name=class_name)


@dataclass(frozen=True)
class Heads:
    """Attention sizes: query heads, key/value heads (GQA; 1 is MQA) and the width of one head."""

    query: Dim
    kv: Dim
    dim: Dim


def grouped_heads(
    c: ModelConfig,
    hidden: Dim,
    *,
    heads: int | None = None,
    head_dim: int | None = None,
    kv: int | None = None,
) -> Heads:
    """num_attention_heads, num_key_value_heads (absent: as many) and head_dim (absent: hidden /
    heads). ``heads``, ``head_dim`` and ``kv`` are the family's own defaults; with ``kv``, a key
    that is present but null still means as many key heads as query heads.

    Source: the attribute fallbacks in transformers' configuration files; GQA: Ainslie et al. 2023.
    """
    query = c.dim("num_attention_heads", **({} if heads is None else {"default": heads}))
    absent = kv is not None and "num_key_value_heads" not in c.values
    groups = c.dim("num_key_value_heads", default=kv if absent else query)
    if c.has("head_dim") or head_dim is not None:
        return Heads(query, groups, c.dim("head_dim", default=head_dim))
    return Heads(query, groups, hidden // query)


def grouped_attention(
    class_name: str,
    hidden: int,
    heads: Heads,
    *,
    bias: bool = False,
    out_bias: bool | None = None,
    norms: Callable[[], dict[str, Module]] | None = None,
    out: str = "o_proj",
) -> Module:
    """q, k, v and output projections of grouped-query attention.

    H·(h·d) for q and the output, H·(g·d) each for k and v, biases where ``bias``; ``norms`` adds
    the per-head norms some families have (q_norm, k_norm).
    """
    width = heads.query * heads.dim
    kv_width = heads.kv * heads.dim
    return Module(
        class_name,
        {
            "q_proj": Linear(hidden, width, bias=bias, kind="query"),
            "k_proj": Linear(hidden, kv_width, bias=bias, kind="key"),
            "v_proj": Linear(hidden, kv_width, bias=bias, kind="value"),
            out: Linear(width, hidden, bias=bias if out_bias is None else out_bias, kind="output"),
            **(norms() if norms else {}),
        },
        component=Component.ATTENTION,
        cache=(KeysValues(kv_width, kv_width, heads=heads.kv),),
    )


def fused_attention(
    class_name: str,
    hidden: int,
    *,
    bias: bool = True,
    out_bias: bool = True,
    qkv: str = "qkv",
    out: str = "proj",
    joined: int | None = None,
    width: int | None = None,
    **norms: Module | None,
) -> Module:
    """Queries, keys and values in one matrix, and the output: 4·H² weights, or with the width of
    what is ``joined`` and that of all heads together. ``norms`` are those of each head's queries
    and keys."""
    return Module(
        class_name,
        {
            qkv: Linear(hidden, 3 * hidden if joined is None else joined, bias=bias, kind="qkv"),
            out: Linear(hidden if width is None else width, hidden, bias=out_bias, kind="output"),
            **norms,
        },
        component=Component.ATTENTION,
    )


def two_layer_mlp(
    class_name: str,
    hidden: int,
    inner: int,
    *,
    act: str | None = None,
    bias: bool = True,
    names: tuple[str, str] = ("fc1", "fc2"),
    act_name: str = "act",
    out: int | None = None,
) -> Module:
    """down(act(up(x))): 2·H·I weights, or H·I + I·O to another width ``out``; ``names`` are those
    of the two. Without ``act`` the class keeps no module for it."""
    up, down = names
    return Module(
        class_name,
        {
            up: Linear(hidden, inner, bias=bias, kind="up"),
            act_name: activation(act) if act else None,
            down: Linear(inner, hidden if out is None else out, bias=bias, kind="down"),
        },
        component=Component.MLP,
    )


def gated_mlp(
    class_name: str,
    hidden: int,
    inner: int,
    *,
    bias: bool = False,
    act: str | None = "silu",
    kind: str | None = None,
) -> Module:
    """down(act(gate(x)) * up(x)): 3·H·I weights. Source: Shazeer 2020, GLU variants."""
    return Module(
        class_name,
        gate_proj=Linear(hidden, inner, bias=bias, kind=kind or "gate"),
        up_proj=Linear(hidden, inner, bias=bias, kind=kind or "up"),
        down_proj=Linear(inner, hidden, bias=bias, kind=kind or "down"),
        act_fn=activation(act),
        component=Component.MLP,
    )


def depthwise(
    channels: int, kernel: int, *, bias: bool = False, component: Component | None = None
) -> Module:
    """A convolution over time of each channel by itself: channels·k weights."""
    return Conv(channels, channels, kernel, dims=1, groups=channels, bias=bias, component=component)


def convolved_projections(hidden: int, width: int, kernel: int) -> dict[str, Module]:
    """Queries, keys and values of one ``width``, each through a short convolution, as Kimi delta
    attention has them (Kimi Team 2025): 3·H·W + 3·W·k weights."""
    kinds = {"q": "query", "k": "key", "v": "value"}
    return {
        **{f"{x}_proj": Linear(hidden, width, False, kind=kind) for x, kind in kinds.items()},
        **{f"{x}_conv1d": depthwise(width, kernel) for x in kinds},
    }


def hyper_connections(c: ModelConfig, hidden: int) -> dict[str, Parameter]:
    """How m streams join before attention and MLP and split after them (DeepSeek-V4): (2 + m)·m
    rows each."""
    streams = c.dim("hc_mult", default=4)
    rows = (streams + 2) * streams
    attention = stream_weights(c, hidden, "hc_attn_", rows, 3)
    return {**attention, **stream_weights(c, hidden, "hc_ffn_", rows, 3)}


def stream_weights(
    c: ModelConfig, hidden: int, prefix: str, rows: Dim | None = None, scales: int = 1
) -> dict[str, Parameter]:
    """Of each of so many ``rows`` m·H weights and a base, and some scales: without rows m, as where
    m streams join at the end of a model."""
    streams = c.dim("hc_mult", default=4)
    rows = streams if rows is None else rows
    return {
        f"{prefix}fn": Weight(rows, streams * hidden),
        f"{prefix}base": Weight(rows),
        f"{prefix}scale": Weight(scales),
    }


def layer_types(
    c: ModelConfig, layers: int, default: Callable[[int], str], *, key: str = "layer_types"
) -> tuple[str, ...]:
    """One word per layer; absent, ``default(i)`` for layer i (the family's pattern).

    Raises ConfigError where the list is not as long as the model is deep.
    """
    usual = [default(i) for i in range(int(layers))]
    return c.strings(key, default=usual, count=int(layers))


def layer_overrides(c: ModelConfig, i: int) -> ModelConfig:
    """What ``per_layer_config`` says of layer ``i``; saved files pad the numbers with zeros so that
    all are as long as the last (transformers/integrations/heterogeneity)."""
    spellings = (str(i).zfill(digits) for digits in range(1, len(str(MAX_COUNT)) + 1))
    return c.section("per_layer_config").section(*spellings)
