"""RWKV-4 (Peng et al. 2023). Source of shapes: transformers/models/rwkv/modeling_rwkv.py.

In place of attention a recurrence with a decay per channel; keys, values and gates see a learned
mix of the present and the previous token. The first block has a norm of the embedding.
"""

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.keeps import State
from ..trees.modules import (
    Activation,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Parameter,
    Weight,
)

_hidden = size("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_epsilon", default=1e-5))


def _mix(h: Dim) -> Parameter:
    return Weight(exact(1), exact(1), h)


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    width = c.dim("attention_hidden_size", default=h)
    return Module(
        "RwkvSelfAttention",
        time_decay=Weight(width),
        time_first=Weight(width),
        time_mix_key=_mix(h),
        time_mix_value=_mix(h),
        time_mix_receptance=_mix(h),
        time_shift=Activation("ZeroPad2d"),
        key=Linear(h, width, bias=False, kind="key"),
        value=Linear(h, width, bias=False, kind="value"),
        receptance=Linear(h, width, bias=False, kind="gate"),
        output=Linear(width, h, bias=False, kind="output"),
        component=Component.SSM,
        keeps=(State("shift", (h,)), *(State("recurrent", (width,), "F32") for _ in range(3))),
    )


def feed_forward(c: ModelConfig) -> Module:
    h = _hidden(c)
    inner = c.dim("intermediate_size", default=4 * h)
    return Module(
        "RwkvFeedForward",
        time_shift=Activation("ZeroPad2d"),
        time_mix_key=_mix(h),
        time_mix_receptance=_mix(h),
        key=Linear(h, inner, bias=False, kind="up"),
        receptance=Linear(h, h, bias=False, kind="gate"),
        value=Linear(inner, h, bias=False, kind="down"),
        component=Component.MLP,
        keeps=(State("shift", (h,)),),
    )


def block(c: ModelConfig, *, first: bool) -> Module:
    return Module(
        "RwkvBlock",
        pre_ln=_norm(c) if first else None,
        ln1=_norm(c),
        ln2=_norm(c),
        attention=attention(c),
        feed_forward=feed_forward(c),
    )


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers", default=32))
    blocks = [block(c, first=True), *[block(c, first=False)] * (count - 1)][:count]
    return Module(
        "RwkvModel",
        embeddings=Embedding(c.dim("vocab_size", default=50277), _hidden(c)),
        blocks=Layers(blocks),
        ln_out=LayerNorm(_hidden(c)),
    )


register(
    "rwkv",
    {
        "RwkvForCausalLM": causal_lm(
            "RwkvForCausalLM", model, prefix="rwkv", embedding="embeddings", head="head"
        ),
        "RwkvModel": model,
    },
    base_prefix="rwkv",
    category="text decoder",
)
