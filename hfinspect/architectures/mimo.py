"""MiMo-7B (Xiaomi 2025): Qwen2 with layers that predict one token further, which its class builds
and saves."""

from ..core.nouns import Component, ModelConfig
from ..layers.heads import register_decoder
from ..trees.modules import Layers, Linear, Module
from .qwen2 import QWEN2


def mtp_layer(c: ModelConfig) -> Module:
    """A Qwen2 layer behind a projection of the last hidden state and the next token's embedding."""
    h, block = QWEN2.width(c), QWEN2.layer(QWEN2, c, "dense")
    norm = QWEN2.norm(QWEN2, c, h)
    return Module(
        "MiMoMTPLayers",
        input_layernorm=norm,
        post_attention_layernorm=norm,
        token_layernorm=norm,
        hidden_layernorm=norm,
        input_proj=Linear(h * 2, h, bias=False, component=Component.PROJECTOR),
        final_layernorm=norm,
        self_attn=block["self_attn"],
        mlp=block["mlp"],
        kind="mtp",
    )


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_nextn_predict_layers", default=0))
    more = Layers([mtp_layer(c)] * count, part="mtp") if count else None
    return QWEN2.named("MiMoModel", c).adding(mtp_layers=more)


_SOURCE = "modeling_mimo.py and index of XiaomiMiMo/MiMo-7B; base checked against Qwen2"
register_decoder("mimo", "MiMo", model, heads=(), source=_SOURCE)
