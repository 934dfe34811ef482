"""DBRX (Databricks 2024). Source of shapes: transformers/models/dbrx/modeling_dbrx.py.

Norms without bias, q, k and v in one projection; the experts' three matrices lie below one another
in tensors of n·I rows, in memory as in files.
(transformers cannot build the class without a rope_theta in attn_config: no default is recorded.)
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.modules import Embedding, LayerNorm, Layers, Linear, Module, Weight

_hidden = size("d_model", "hidden_size", default=2048)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), bias=False)


def attention(c: ModelConfig) -> Module:
    h, heads = _hidden(c), c.dim("n_heads", "num_attention_heads", default=16)
    kv = c.section("attn_config").dim("kv_n_heads", default=1)
    return Module(
        "DbrxAttention",
        Wqkv=Linear(h, h + 2 * kv * (h // heads), bias=False, kind="qkv"),
        out_proj=Linear(h, h, bias=False, kind="output"),
        component=Component.ATTENTION,
    )


def ffn(c: ModelConfig) -> Module:
    f = c.section("ffn_config")
    wide = _hidden(c.fields)  # the config class hands it on before it takes aliases into account
    count = f.count("moe_num_experts", default=4, minimum=1)
    rows = count * f.dim("ffn_hidden_size", default=3584)
    per_token = f.dim("moe_top_k", default=1)
    if isinstance(f.raw("ffn_act_fn"), str):  # older configs give the name alone
        act = f.text("ffn_act_fn")
    else:
        act = f.section("ffn_act_fn").text("name", default="silu")
    return Module(
        "DbrxFFN",
        router=Module(
            "DbrxRouter", layer=Linear(wide, count, bias=False), component=Component.ROUTER
        ),
        experts=Module(
            "DbrxExperts",
            mlp=Module(
                "DbrxExpertGLU",
                w1=Weight(rows, wide),
                v1=Weight(rows, wide),
                w2=Weight(rows, wide),
                activation_fn=activation(act),
            ),
            kind="expert",
            active=(min(int(per_token), int(count)), int(count)),
        ),
        component=Component.MLP,
    )  # fmt: skip


def block(c: ModelConfig) -> Module:
    return Module(
        "DbrxBlock",
        norm_attn_norm=Module(
            "DbrxNormAttentionNorm", norm_1=_norm(c), attn=attention(c), norm_2=_norm(c)
        ),
        ffn=ffn(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "DbrxModel",
        wte=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        blocks=Layers.of(c.count("n_layers", "num_hidden_layers", default=24), block(c)),
        norm_f=_norm(c),
    )


register(
    "dbrx",
    {
        "DbrxForCausalLM": causal_lm(
            "DbrxForCausalLM", model, prefix="transformer", embedding="wte"
        ),
        "DbrxModel": model,
    },
    base_prefix="transformer",
    category="text decoder",
)
