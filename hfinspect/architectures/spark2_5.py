"""Spark X2.5 (XHToken 2026). No class in transformers. Source of shapes: modeling_spark.py of the
release; a published index gives the total of its 4B model.

Grouped queries in one matrix with keys and values, a gate a head on attention's output, a gated
MLP, norms before both.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_heads
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2560)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="Spark2_5RMSNorm")


def attention(c: ModelConfig) -> Module:
    h, bias = _hidden(c), c.flag("attention_bias", default=False)
    heads = grouped_heads(c, h, heads=16, kv=4, head_dim=256)
    width = heads.query * heads.dim
    gated = c.flag("headwise_attn_output_gate", default=True)
    return Module(
        "Spark2_5Attention",
        q_k_v_proj=Linear(h, width + 2 * (heads.kv * heads.dim), bias=bias, kind="qkv"),
        g_proj=Linear(h, heads.query, bias=bias, kind="gate") if gated else None,
        out_proj=Linear(width, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    return Module(
        "Spark2_5DecoderLayer",
        self_attn=attention(c),
        mlp=gated_mlp(
            "Spark2_5MLP",
            _hidden(c),
            c.dim("intermediate_size", default=10240),
            bias=c.flag("mlp_bias", default=False),
            act=c.text("hidden_act", default="gelu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "Spark2_5Model",
        embedding=Embedding(c.dim("vocab_size", default=131072), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=36), layer(c)),
        norm=_norm(c),
    )


register(
    "spark2_5",
    {
        "Spark2_5ForCausalLM": causal_lm(
            "Spark2_5ForCausalLM", model, embedding="embedding", tied_default=True
        ),
        "Spark2_5Model": model,
    },
    base_prefix="model",
    category="text decoder",
    source="modeling_spark.py of Spark X2.5",
)
