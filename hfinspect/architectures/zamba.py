"""Zamba (Zyphra 2024; transformers/models/zamba). Mamba layers with several heads; hybrid layers
also run one shared transformer block."""

from ..layers import named_decoder as s
from ..layers.blocks import activation, depthwise, gated_mlp, rms_norms, size
from ..layers.decoders import SEQUENCE_HEAD
from ..layers.layer_kinds import words
from ..trees import Component, Layers, Linear, ModelConfig, Module, State, Weight
from .mamba import time_step_rank
from .zamba2 import shared_layers, wide_block


def _mixer(d: s.NamedDecoder, c: ModelConfig) -> Module:
    h = d.width(c)
    heads = c.dim("n_mamba_heads", default=2)
    inner = c.dim("mamba_expand", default=2) * h
    width = c.divided(inner, heads, "mamba_expand · hidden_size", "n_mamba_heads")
    state = c.dim("mamba_d_state", default=16)
    kernel = c.dim("mamba_d_conv", default=4)
    bias = c.flag("mamba_proj_bias", default=False)
    rank = time_step_rank(c, h, "mamba_dt_rank")
    return Module(
        "ZambaMambaMixer",
        x_proj_weight=Weight(heads, rank + state * 2, width),
        dt_proj_weight=Weight(heads, width, rank),
        dt_proj_bias=Weight(heads, width),
        A_log=Weight(heads, width, state),
        D=Weight(heads, width),
        conv1d=depthwise(inner, kernel, bias=c.flag("mamba_conv_bias", default=True)),
        act=activation(c.text("hidden_mamba_act", default="silu")),
        in_proj=Linear(h, inner * 2, bias=bias),
        out_proj=Linear(inner, h, bias=bias),
        component=Component.SSM,
        cache=(State("recurrent", (heads, width, state), "F32"),),
    )


def _kinds(d: s.NamedDecoder, c: ModelConfig) -> list[str]:
    """The list, else by period and offset after a beginning of three."""
    count = int(c.count("num_hidden_layers", default=76))
    period = int(c.dim("attn_layer_period", default=6))
    offset = int(c.dim("attn_layer_offset", default=4, minimum=0))
    usual = ["hybrid" if i % period == offset else "mamba" for i in range(count - 3)]
    keys = ("layers_block_type", "layer_types")
    if not c.has(*keys):
        return ["mamba", "mamba", "hybrid", *usual]
    listed = words(lambda *_: "", "mamba", "linear_attention", "hybrid", key=keys[0], older=keys[1])
    return list(listed(d, c, count))


def _layers(d: s.NamedDecoder, c: ModelConfig) -> Layers:
    def shared(_use: int) -> Module:
        inner = c.dim("intermediate_size", default=14848)
        act = c.text("hidden_act", default="gelu")
        mlp = gated_mlp("ZambaMLP", d.width(c), inner, act=act)
        return wide_block(d, c, mlp, 16)

    parts = {"mamba": _mixer(d, c), "input_layernorm": s.norm(d, c)}
    mamba = Module("ZambaMambaDecoderLayer", parts)
    linear = Linear(d.width(c), d.width(c), False)
    return shared_layers(
        c,
        _kinds(d, c),
        mamba,
        shared,
        "shared_transf",
        lambda block: Module(
            "ZambaHybridLayer", shared_transf=block, linear=linear, mamba_decoder=mamba
        ),
    )


s.NamedDecoder(
    "Zamba",
    width=size("hidden_size", default=3712),
    heads=size("num_attention_heads", default=16),
    vocab=size("vocab_size", default=32000),
    norms=rms_norms("ZambaRMSNorm", 1e-5),
    prefix="model",
    model={"embed_tokens": s.words, "layers": _layers, "final_layernorm": s.norm},
    scope=True,
).register("zamba", heads=SEQUENCE_HEAD)
