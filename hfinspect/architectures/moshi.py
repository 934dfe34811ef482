"""Moshi's text decoder (Kyutai 2024). Source of shapes: transformers/models/moshi.

A decoder whose MLP halves its first output to gate the other half; its table has one row more than
the vocabulary.  The whole of Moshi (with a depth decoder and the Mimi codec) is not here.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from .blocks import activation, grouped_heads
from .heads import lm_head
from .modules import Embedding, Layers, Linear, Module, RMSNorm
from .registry import register


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-8)
    return RMSNorm(_hidden(c), eps=eps, class_name="MoshiRMSNorm")


def _projection(inputs: int, outputs: int, kind: str) -> Module:
    return Module("MoshiLinear", linear=Linear(inputs, outputs, bias=False, kind=kind))


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("ffn_dim", default=22528)
    heads = grouped_heads(c, h, heads=32)
    width, kv_width = heads.query * heads.dim, heads.kv * heads.dim
    return Module(
        "MoshiDecoderLayer",
        self_attn=Module(
            "MoshiAttention",
            q_proj=_projection(h, width, "query"),
            k_proj=_projection(h, kv_width, "key"),
            v_proj=_projection(h, kv_width, "value"),
            o_proj=_projection(width, h, "output"),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            "MoshiGatingMLP",
            activation_fn=activation(c.text("hidden_act", default="silu")),
            fc1=Linear(h, inner, bias=False, kind="gate_up"),
            fc2=Linear(c.divided(inner, 2, "ffn_dim", "ffn_dim"), h, bias=False, kind="down"),
            component=Component.MLP,
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "MoshiModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000) + 1, _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
    )


def causal(c: ModelConfig) -> Module:
    vocab = c.dim("vocab_size", default=32000)
    untied = ModelConfig({})  # the class ties nothing whatever tie_word_embeddings says
    head = lm_head(untied, _hidden(c), vocab, tied_to="", tied_default=False)
    return Module("MoshiForCausalLM", model=model(c), lm_head=head)


register(
    "moshi",
    {"MoshiForCausalLM": causal, "MoshiModel": model},
    base="MoshiModel",
    base_prefix="model",
    category="text decoder",
)
