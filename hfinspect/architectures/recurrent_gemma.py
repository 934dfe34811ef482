"""RecurrentGemma (Griffin; De et al. 2024).

Source of shapes: transformers/models/recurrent_gemma/modeling_recurrent_gemma.py.
Layers follow the repeating list ``block_types``: a gated linear recurrent unit of width
``lru_width`` or local attention. ``intermediate_size`` counts gate and up together.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import windows
from ..trees.catalog import register
from ..trees.keeps import State
from ..trees.modules import Activation, Conv, Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2560)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="RecurrentGemmaRMSNorm")


def _act(c: ModelConfig) -> str | None:
    return c.text("hidden_activation", default="gelu_pytorch_tanh")


def recurrent(c: ModelConfig) -> Module:
    """Two gates of one small square matrix per head, and a recurrence of one number per channel."""
    h = _hidden(c)
    width = c.dim("lru_width", default=h)
    heads = c.dim("num_attention_heads", default=10)
    block = width // heads
    unit = Module(
        "RecurrentGemmaRglru",
        recurrent_param=Weight(width),
        input_gate_weight=Weight(heads, block, block),
        input_gate_bias=Weight(heads, block),
        recurrent_gate_weight=Weight(heads, block, block),
        recurrent_gate_bias=Weight(heads, block),
    )
    kernel = c.dim("conv1d_width", default=4)
    return Module(
        "RecurrentGemmaRecurrentBlock",
        linear_y=Linear(h, width),
        linear_x=Linear(h, width),
        linear_out=Linear(width, h),
        conv_1d=Conv(width, width, kernel, dims=1, groups=width, component=None),
        rg_lru=unit,
        act_fn=activation(_act(c)),
        component=Component.SSM,
        keeps=(State("recurrent", (width,), "F32"),),
    )


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=10)
    bias = c.flag("attention_bias", default=False)
    return grouped_attention("RecurrentGemmaAttention", h, heads, bias=bias, out_bias=True)


def layer(c: ModelConfig, kind: str) -> Module:
    inner = c.dim("intermediate_size", default=3 * 2560) // 2
    return Module(
        "RecurrentGemmaDecoderLayer",
        temporal_pre_norm=_norm(c),
        temporal_block=recurrent(c) if kind == "recurrent" else attention(c),
        channel_pre_norm=_norm(c),
        mlp_block=gated_mlp("RecurrentGemmaMlp", _hidden(c), inner, bias=True, act=_act(c)),
    )


def model(c: ModelConfig) -> Module:
    pattern = c.strings("block_types", default=("recurrent", "recurrent", "attention"))
    if not pattern:
        raise c.error("block_types", [], "at least one type")
    count = int(c.count("num_hidden_layers", default=26))
    kinds = [pattern[i % len(pattern)] for i in range(count)]
    built = {kind: layer(c, kind) for kind in set(kinds)}
    return Module(
        "RecurrentGemmaModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=256000), _hidden(c)),
        layers=Layers(
            (built[kind] for kind in kinds),
            windows=windows(c, 2048, key="attention_window_size"),
        ),
        final_norm=_norm(c),
        rotary_emb=Activation("RecurrentGemmaRotaryEmbedding"),
    )


register(
    "recurrent_gemma",
    decoder_classes("RecurrentGemma", model, hidden=_hidden, tied_default=True, heads=()),
    base="RecurrentGemmaModel",
    base_prefix="model",
    category="text decoder",
)
