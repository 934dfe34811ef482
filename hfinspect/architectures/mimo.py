"""MiMo-7B (Xiaomi 2025). No class in transformers. Source of shapes: modeling_mimo.py in
XiaomiMiMo/MiMo-7B-Base, and its index.

Qwen2 with layers that predict one token further (num_nextn_predict_layers), which its class
builds and saves, so files hold them.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.modules import Layers, Linear, Module, RMSNorm
from .qwen2 import QWEN2


def mtp_layer(c: ModelConfig) -> Module:
    """A Qwen2 layer behind a projection of the last hidden state and the next token's embedding."""
    h = c.dim("hidden_size", default=4096)
    norm = RMSNorm(h, eps=c.number("rms_norm_eps", default=1e-6), class_name="Qwen2RMSNorm")
    block = QWEN2.layer(QWEN2, c, "dense")
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
    module = QWEN2.model(c)
    module.class_name = "MiMoModel"
    count = int(c.count("num_nextn_predict_layers", default=0))
    if count:
        module.children["mtp_layers"] = Layers([mtp_layer(c)] * count, part="mtp")
    return module


register(
    "mimo",
    {"MiMoForCausalLM": causal_lm("MiMoForCausalLM", model), "MiMoModel": model},
    base_prefix="model",
    category="text decoder",
    source="modeling_mimo.py and index of XiaomiMiMo/MiMo-7B; base checked against Qwen2",
)
