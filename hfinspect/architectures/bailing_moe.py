"""Ling and Ring, first and second generation (Ant Group 2025): Ling-lite, Ling-plus, Ling-mini-2.0,
Ling-flash-2.0, Ling-1T. No class in transformers. Source of shapes: modeling_bailing_moe.py in
inclusionAI/Ling-lite and modeling_bailing_moe_v2.py in inclusionAI/Ling-mini-2.0; vLLM's and
SGLang's bailing_moe.py and bailing_moe_nextn.py read the same names.

Llama's block with q, k and v in one matrix, routed and shared experts. The second generation has
dense first layers, norms of each head's queries and keys, a bias that balances the router, and
layers that predict further tokens, which its class saves.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_heads, size
from ..layers.experts import routed_and_shared
from ..layers.heads import causal_lm, sequence_classification
from ..trees.catalog import register
from ..trees.modules import Buffer, Embedding, Layers, Linear, Module, RMSNorm, Weight

_hidden = size("hidden_size", default=2048)


def _norm(c: ModelConfig, size: Dim | None = None) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(size or _hidden(c), eps=eps, class_name="BailingMoeRMSNorm")


def _bias(c: ModelConfig) -> bool:
    return c.flag("use_bias", default=False)


def attention(c: ModelConfig, *, second: bool) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=16)
    normed = second and c.flag("use_qk_norm", default=True)
    width = (heads.query + 2 * heads.kv) * heads.dim
    bias = _bias(c) or c.flag("use_qkv_bias", default=False)
    return Module(
        "BailingMoeAttention",
        query_key_value=Linear(h, width, bias=bias, kind="qkv"),
        query_layernorm=_norm(c, heads.dim) if normed else None,
        key_layernorm=_norm(c, heads.dim) if normed else None,
        dense=Linear(heads.query * heads.dim, h, bias=_bias(c), kind="output"),
        component=Component.ATTENTION,
    )


def _sparse(c: ModelConfig, *, second: bool) -> Module:
    h, inner = _hidden(c), c.dim("moe_intermediate_size", default=1408)
    count = c.count("num_experts", default=16, minimum=1)
    shared = c.count("num_shared_experts", default=0)
    corrected = second and c.flag("moe_router_enable_expert_bias", default=True)
    gate = Module(
        "BailingMoeGate",
        weight=Weight(count, h),
        expert_bias=Buffer(count, dtype="F32") if corrected else None,
        component=Component.ROUTER,
    )
    return routed_and_shared(
        "BailingMoe", h, inner, count=count, per_token=c.dim("num_experts_per_tok", default=2),
        shared=inner * shared if shared else None, gate=gate,
        act=c.text("hidden_act", default="silu"), class_name="BailingMoeSparseMoeBlock",
    )  # fmt: skip


def layer(c: ModelConfig, *, second: bool, sparse: bool) -> Module:
    dense = gated_mlp(
        "BailingMoeMLP", _hidden(c), c.dim("intermediate_size", default=5120), bias=_bias(c),
        act=c.text("hidden_act", default="silu"),
    )  # fmt: skip
    return Module(
        "BailingMoeDecoderLayer",
        attention=attention(c, second=second),
        mlp=_sparse(c, second=second) if sparse else dense,
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def next_token_layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "BailingMoeV2MTPLayer",
        {
            "enorm": _norm(c),
            "hnorm": _norm(c),
            "eh_proj": Linear(h * 2, h, bias=False, component=Component.PROJECTOR),
            **layer(c, second=True, sparse=True).children,
            "final_layernorm": _norm(c),
        },
        part="mtp",
        kind="mtp",
    )


def _model(c: ModelConfig, *, second: bool) -> Module:
    count = int(c.count("num_hidden_layers", default=28))
    first = int(c.count("first_k_dense_replace", default=0))
    sparse = [i >= first for i in range(count)]
    made = {kind: layer(c, second=second, sparse=kind) for kind in dict.fromkeys(sparse)}
    rows = [made[kind] for kind in sparse]
    more = int(c.count("num_nextn_predict_layers", default=0)) if second else 0
    if more:
        rows += [next_token_layer(c)] * more
    return Module(
        "BailingMoeV2Model" if second else "BailingMoeModel",
        word_embeddings=Embedding(c.dim("vocab_size", default=126464), _hidden(c)),
        layers=Layers(rows),
        norm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return _model(c, second=False)


def second_model(c: ModelConfig) -> Module:
    return _model(c, second=True)


_SOURCE = "modeling_bailing_moe.py of inclusionAI/Ling-lite, _v2.py of Ling-mini-2.0; vLLM, SGLang"

for _types, _name, _base in (
    (("bailing_moe",), "BailingMoe", model),
    (("bailing_moe_v2",), "BailingMoeV2", second_model),
):
    register(
        _types,
        {
            f"{_name}ForCausalLM": causal_lm(
                f"{_name}ForCausalLM", _base, embedding="word_embeddings"
            ),
            f"{_name}Model": _base,
            f"{_name}ForSequenceClassification": sequence_classification(
                f"{_name}ForSequenceClassification", _base, hidden=_hidden
            ),
        },
        base=f"{_name}Model",
        base_prefix="model",
        category="text decoder",
        source=_SOURCE,
    )
