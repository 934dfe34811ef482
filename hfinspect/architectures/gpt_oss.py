"""gpt-oss (OpenAI 2025). Source of shapes: transformers/models/gpt_oss/modeling_gpt_oss.py.

A decoder with biases, one learned attention sink per head and, in every layer, experts that files
hold fused: (experts, in, out) for all of them at once, gate and up side by side.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.experts import router
from ..layers.heads import decoder_classes
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2880)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-5), class_name="GptOssRMSNorm"
    )


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    # A head_dim that is present and null means hidden / heads; absent it is 64.
    head_dim = None if "head_dim" in c.values else 64
    heads = grouped_heads(c, h, heads=64, head_dim=head_dim, kv=8)
    block = grouped_attention(
        "GptOssAttention", h, heads, bias=c.flag("attention_bias", default=True)
    )
    block.children["sinks"] = Weight(heads.query, kind="sink")
    return block


def mlp(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=2880)
    count = c.count("num_local_experts", "num_experts", default=128, minimum=1)
    per_token = c.dim("num_experts_per_tok", "experts_per_token", default=4)
    return Module(
        "GptOssMLP",
        router=router("GptOssTopKRouter", h, count, bias=True),
        experts=Module(
            "GptOssExperts",
            gate_up_proj=Weight(count, h, inner * 2),
            gate_up_proj_bias=Weight(count, inner * 2),
            down_proj=Weight(count, inner, h),
            down_proj_bias=Weight(count, h),
            kind="expert",
            active=(min(int(per_token), int(count)), int(count)),
        ),
        component=Component.MLP,
    )


def layer(c: ModelConfig) -> Module:
    return Module(
        "GptOssDecoderLayer",
        self_attn=attention(c),
        mlp=mlp(c),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "GptOssModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=201088), _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=36), layer(c), windows=windows(c, 128, every(2))
        ),
        norm=_norm(c),
    )


register(
    "gpt_oss",
    decoder_classes(
        "GptOss",
        model,
        hidden=_hidden,
        heads=("ForSequenceClassification", "ForTokenClassification"),
    ),
    base="GptOssModel",
    base_prefix="model",
    category="text decoder",
)
