"""Qwen3-Next (Qwen team 2025; transformers/models/qwen3_next): a gated delta net (Yang et al. 2024)
in three layers of four. The Hub's multi-token-prediction block ``mtp``, which transformers drops:
vLLM's model_executor/models/qwen3_next_mtp.py."""

from collections.abc import Callable, Mapping
from functools import partial

from ..layers.blocks import depthwise
from ..layers.decoders import Decoder, grouped, mixed
from ..layers.layer_kinds import every_nth, side_by_side, stepped, words
from ..layers.mixtures import counts, qwen
from ..trees import Builder, Component, Layers, Linear, ModelConfig, Module, RMSNorm, State, Weight
from ..trees.config_defaults import config_defaults
from .llama import LLAMA


def gated_attention(d: Decoder, c: ModelConfig) -> Module:
    """Grouped attention whose q_proj is twice as wide: the second half gates the output."""
    width = d.heads(c).query * d.heads(c).dim * 2
    bias = c.flag("attention_bias", default=False)
    return grouped(d, c).adding(q_proj=Linear(d.width(c), width, bias=bias, kind="query"))


def delta_net(d: Decoder, c: ModelConfig, *, fused: bool = False) -> Module:
    """The gated delta net: q, k, v through a short convolution, a decay and a step per value head.
    ``fused``: one projection for q, k, v and the gate z, one for the steps b and decays a."""
    h = d.width(c)
    heads = c.dim("linear_num_value_heads", default=32)
    key_dim, value_dim = (c.dim(f"linear_{x}_head_dim", default=128) for x in ("key", "value"))
    key = key_dim * c.dim("linear_num_key_heads", default=16)
    value = value_dim * heads
    convolved = key * 2 + value
    kernel = c.dim("linear_conv_kernel_dim", default=4)
    inputs = {"qkv": convolved, "z": value, "b": heads, "a": heads}
    if fused:
        inputs = {"qkvz": key * 2 + value * 2, "ba": heads * 2}
    return Module(
        f"{d.name}GatedDeltaNet",
        {
            "dt_bias": Weight(heads),
            "A_log": Weight(heads),
            "conv1d": depthwise(convolved, kernel),
            **{f"in_proj_{at}": Linear(h, width, bias=False) for at, width in inputs.items()},
            "norm": RMSNorm(value_dim, class_name=f"{d.name}RMSNormGated"),
            "out_proj": Linear(value, h, bias=False),
        },
        component=Component.SSM,
        cache=(State("recurrent", (value, key_dim), "F32"),),
    )


#: layer_types, else a full attention in every ``full_attention_interval``-th layer.
MIXERS = words(
    every_nth("full_attention_interval", 4, "full_attention"), "linear_attention", "full_attention"
)


def token_predictor(d: Decoder, c: ModelConfig, kind: object, count: int) -> Module | None:
    """The block that predicts the token after next: joins embedding and hidden state, runs
    ``count`` layers of that kind, none of it without any; embedding and head are the model's."""
    if not count:
        return None
    joint = Linear(d.width(c) * 2, d.width(c), bias=False, component=Component.PROJECTOR)
    parts = {"fc": joint, "layers": Layers([d.layer(d, c, kind)] * int(count))}
    norms = d.norms(c, "norm", "pre_fc_norm_hidden", "pre_fc_norm_embedding")
    predictor = Module(f"{d.name}MultiTokenPredictor", parts, part="mtp", kind="mtp", saved=False)
    return predictor.adding(**norms)


def with_predictor(
    classes: Mapping[str, Builder], predictor: Callable[[ModelConfig], Module | None]
) -> dict[str, Builder]:
    """These classes, the first with the Hub's ``mtp`` block at its root."""
    name, build = next(iter(classes.items()))
    return {**classes, name: lambda c: build(c).adding(mtp=predictor(c))}


def routed(count: int, per_token: int) -> Callable[[Decoder, ModelConfig], Module]:
    """So many narrow experts and a gated shared one by default."""
    return qwen(counts("num_experts", default=count), per_token, 512, 512)


def layer(d: Decoder, c: ModelConfig, kind: tuple[str, str], *, fused: bool = False) -> Module:
    """A mixer and an MLP of those kinds, each after a norm."""
    if kind[0] == "linear_attention":
        return mixed(d, c, delta_net(d, c, fused=fused), kind, self_attn="linear_attn")
    return mixed(d, c, d.attention(d, c), kind)


_EXPERTS = counts("num_experts", default=512)
_NEXT = LLAMA.like(
    "Qwen3Next",
    **config_defaults("qwen3_next"),
    mlp_bias=None,
    qk_norm=True,
    attention=gated_attention,
    moe=routed(512, 10),
    layer=partial(layer, fused=True),
    rotary=False,
    kinds=side_by_side(MIXERS, stepped(_EXPERTS)),
)


def _predictor(c: ModelConfig) -> Module | None:
    """One layer, though the Hub's configs don't mention it."""
    count = c.count("mtp_num_hidden_layers", "num_nextn_predict_layers", default=1)
    kind = ("full_attention", "sparse" if _EXPERTS(c) > 0 else "dense")
    return token_predictor(_NEXT, c, kind, count)


_NEXT.register("qwen3_next", more=with_predictor(_NEXT.classes(), _predictor))
