"""Yuan 2.0 (Wu et al. 2023). No class in transformers. Source of shapes: yuan_hf_model.py in
IEITYuan/Yuan2-2B-hf (the same code stands in PaddleNLP and vLLM ports).

Llama's block whose queries and keys see the two tokens before: a localized filter of two
convolutions over the sequence, with a residual and a norm. Or (use_shareqk) one matrix for both,
with a scale and a shift each. The mixtures of Yuan2-M32 are not in the catalog.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..errors import UnknownArchitectureError
from ..layers.blocks import gated_mlp
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Conv, Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="YuanRMSNorm")


def _filter(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "LocalizedFiltering",
        conv1=Conv(h, h // 2, (2, 1)),
        conv2=Conv(h // 2, h, (2, 1)),
        output_layernorm=_norm(c),
    )


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = c.dim("num_attention_heads", default=32)
    head = c.divided(
        c.dim("attention_projection_size", default=h), heads, "hidden_size", "num_attention_heads"
    )
    width = heads * head
    shared = c.flag("use_shareqk", default=False)
    return Module(
        "YuanAttention",
        qk_weight=Weight(2, h, kind="scale") if shared else None,
        qk_bias=Weight(2, h) if shared else None,
        v_proj=Linear(h, width, bias=False, kind="value"),
        o_proj=Linear(width, h, bias=False, kind="output"),
        qk_proj=Linear(h, width, bias=False, kind="query") if shared else None,
        lf_gate=None if shared else _filter(c),
        q_proj=None if shared else Linear(h, width, bias=False, kind="query"),
        k_proj=None if shared else Linear(h, width, bias=False, kind="key"),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    inner = c.dim("intermediate_size", default=11008)
    return Module(
        "YuanDecoderLayer",
        self_attn=attention(c),
        mlp=gated_mlp("YuanMLP", _hidden(c), inner, act=c.text("hidden_act", default="silu")),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    if c.has("moe_config"):
        raise UnknownArchitectureError(
            "a yuan config with moe_config (Yuan2-M32)", "is not in the catalog",
            where=c.path or None, hint="a checkpoint's headers are read without the catalog",
        )  # fmt: skip
    return Module(
        "YuanModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
    )


register(
    "yuan",
    decoder_classes(
        "Yuan", model, hidden=_hidden, tied_default=True, heads=("ForSequenceClassification",)
    ),
    base="YuanModel",
    base_prefix="model",
    category="text decoder",
    source="yuan_hf_model.py of IEITYuan/Yuan2-2B-hf",
)
