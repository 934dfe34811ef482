"""VaultGemma (Google 2025). Source of shapes: transformers/models/vaultgemma.

Gemma 2 without the norms after attention and MLP; trained with differential privacy.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2304)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="VaultGemmaRMSNorm")


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "VaultGemmaDecoderLayer",
        self_attn=grouped_attention(
            "VaultGemmaAttention",
            h,
            grouped_heads(c, h, heads=8, kv=4, head_dim=256),
            bias=c.flag("attention_bias", default=False),
        ),
        mlp=gated_mlp(
            "VaultGemmaMLP",
            h,
            c.dim("intermediate_size", default=9216),
            act=c.text("hidden_activation", default="gelu_pytorch_tanh"),
        ),
        input_layernorm=_norm(c),
        pre_feedforward_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "VaultGemmaModel",
        embed_tokens=Embedding(
            c.dim("vocab_size", default=256000),
            _hidden(c),
            class_name="VaultGemmaTextScaledWordEmbedding",
        ),
        layers=Layers.of(
            c.count("num_hidden_layers", default=26), layer(c), windows=windows(c, 4096, every(2))
        ),
        norm=_norm(c),
    )


register(
    "vaultgemma",
    decoder_classes("VaultGemma", model, heads=(), tied_default=True),
    base="VaultGemmaModel",
    base_prefix="model",
    category="text decoder",
)
