"""StableLM (Bellagente et al. 2024). Source: transformers/models/stablelm/modeling_stablelm.py.

Llama's block with LayerNorms; optional biases on q, k and v, optional norms for every single head,
and no second norm where attention and MLP stand side by side.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, gated_mlp, grouped_attention
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Embedding, LayerNorm, Layers, Module, ModuleList


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2560)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-5))


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    query = c.count("num_attention_heads", default=32, minimum=1)
    kv = c.count("num_key_value_heads", default=32, minimum=1)
    head = c.divided(h, query, "hidden_size", "num_attention_heads")

    def norms() -> dict[str, Module]:
        norm = LayerNorm(head, eps=c.number("layer_norm_eps", default=1e-5), bias=False)
        return {
            name: Module("StableLmLayerNormPerHead", norms=ModuleList([norm] * int(count)))
            for name, count in (("q_layernorm", query), ("k_layernorm", kv))
        }

    return grouped_attention(
        "StableLmAttention",
        h,
        Heads(query, kv, head),
        bias=c.flag("use_qkv_bias", default=False),
        out_bias=False,
        norms=norms if c.flag("qk_layernorm", default=False) else None,
    )


def layer(c: ModelConfig) -> Module:
    in_a_row = not c.flag("use_parallel_residual", default=False)
    return Module(
        "StableLmDecoderLayer",
        self_attn=attention(c),
        mlp=gated_mlp(
            "StableLmMLP",
            _hidden(c),
            c.dim("intermediate_size", default=6912),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c) if in_a_row else None,
        dropout=Dropout(c.number("hidden_dropout", default=0.0)),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "StableLmModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=50304), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
        rotary_emb=Activation("StableLmRotaryEmbedding"),
    )


register(
    "stablelm",
    decoder_classes(
        "StableLm", model, hidden=_hidden,
        heads=("ForSequenceClassification", "ForTokenClassification"),
    ),
    base="StableLmModel",
    base_prefix="model",
    category="text decoder",
)  # fmt: skip
