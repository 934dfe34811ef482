"""MiniCPM 1 to 4 (Hu et al. 2024). No class in transformers. Source of shapes: modeling_minicpm.py
in openbmb/MiniCPM-2B-sft-bf16 and MiniCPM4-8B; for MiniCPM-MoE-8x2B the names that vLLM's
minicpm.py loads.

Llama's block; scalings of embeddings and residuals have no tensors, nor has sparse attention.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..errors import UnknownArchitectureError
from ..layers.blocks import activation, gated_mlp, grouped_attention, grouped_heads
from ..layers.experts import experts
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="MiniCPMRMSNorm")


def _mlp(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=11008)
    act = c.text("hidden_act", default="silu")
    count = c.count("num_experts", default=0)
    if not count:
        return gated_mlp("MiniCPMMLP", h, inner, act=act)
    expert = Module(
        "MiniCPMMLP",
        w1=Linear(h, inner, bias=False),
        w2=Linear(inner, h, bias=False),
        w3=Linear(h, inner, bias=False),
        act_fn=activation(act),
    )
    return Module(
        "MiniCPMMoE",
        gate=Linear(h, count, bias=False, component=Component.ROUTER),
        experts=experts(count, c.dim("num_experts_per_tok", default=2), expert),
        component=Component.MLP,
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "MiniCPMDecoderLayer",
        self_attn=grouped_attention(
            "MiniCPMAttention",
            h,
            grouped_heads(c, h, heads=32),
            bias=c.flag("attention_bias", default=False),
        ),
        mlp=_mlp(c),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    if c.has("mixer_types"):
        raise UnknownArchitectureError(
            "a minicpm config with mixer_types (linear attention)", "is not in the catalog",
            where=c.path or None, hint="a checkpoint's headers are read without the catalog",
        )  # fmt: skip
    return Module(
        "MiniCPMModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
        rotary_emb=Activation("MiniCPMRotaryEmbedding"),
    )


register(
    "minicpm",
    decoder_classes(
        "MiniCPM", model, hidden=_hidden, tied_default=True, heads=("ForSequenceClassification",)
    ),
    base="MiniCPMModel",
    base_prefix="model",
    category="text decoder",
    source="modeling_minicpm.py of openbmb/MiniCPM-2B-sft-bf16; checked against Llama",
)
