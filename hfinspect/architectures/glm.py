"""GLM-4 9B (GLM Team 2024). Source of shapes: transformers/models/glm/modeling_glm.py.

Two groups of keys and values, biases on queries, keys and values, gate and up in one matrix.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.heads import Base, decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, RMSNorm


def hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def mlp(c: ModelConfig, name: str) -> Module:
    h, inner = hidden(c), c.dim("intermediate_size", default=13696)
    return Module(
        f"{name}MLP",
        gate_up_proj=Linear(h, 2 * inner, bias=False, kind="gate_up"),
        down_proj=Linear(inner, h, bias=False, kind="down"),
        activation_fn=activation(c.text("hidden_act", default="silu")),
        component=Component.MLP,
    )


def base(name: str, norms: tuple[str, ...]) -> Base:
    """The model whose classes begin with ``name`` and whose layers have ``norms``."""

    def build(c: ModelConfig) -> Module:
        h = hidden(c)
        heads = grouped_heads(c, h, heads=32, kv=2, head_dim=128)
        bias = c.flag("attention_bias", default=True)
        norm = RMSNorm(
            h, eps=c.number("rms_norm_eps", default=1.5625e-07), class_name=f"{name}RMSNorm"
        )
        attention = grouped_attention(f"{name}Attention", h, heads, bias=bias, out_bias=False)
        layer = Module(
            f"{name}DecoderLayer",
            {"self_attn": attention, "mlp": mlp(c, name), **dict.fromkeys(norms, norm)},
        )
        return Module(
            f"{name}Model",
            embed_tokens=Embedding(c.dim("vocab_size", default=151552), h),
            layers=Layers.of(c.count("num_hidden_layers", default=40), layer),
            norm=norm,
            rotary_emb=Activation(f"{name}RotaryEmbedding"),
        )

    return build


register(
    "glm",
    decoder_classes(
        "Glm",
        base("Glm", ("input_layernorm", "post_attention_layernorm")),
        hidden=hidden,
        heads=("ForSequenceClassification", "ForTokenClassification"),
    ),
    base="GlmModel",
    base_prefix="model",
    category="text decoder",
)
