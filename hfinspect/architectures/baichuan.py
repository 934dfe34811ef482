"""Baichuan 7B and 13B, Baichuan2 (Yang et al. 2023). No class in transformers. Source of shapes:
modeling_baichuan.py in baichuan-inc/Baichuan-7B, Baichuan-13B-Base and Baichuan2-7B-Base.

Llama's block with q, k and v in one matrix ``W_pack``. The 13B models have ALiBi positions and no
max_position_embeddings; Baichuan2's head is a normalised matrix of the same shape.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp
from ..layers.heads import lm_head, sequence_classification
from ..trees.catalog import Builder, register
from ..trees.modules import Buffer, Embedding, Layers, Linear, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(_hidden(c), eps=c.number("rms_norm_eps", default=1e-6))


def _rotary(c: ModelConfig) -> bool:
    return c.has("max_position_embeddings") and not c.has("alibi_bias_max")


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = c.dim("num_attention_heads", default=32)
    head = c.divided(h, heads, "hidden_size", "num_attention_heads")
    rotary = Module("RotaryEmbedding", inv_freq=Buffer(head // 2, dtype="F32", saved=False))
    return Module(
        "Attention" if _rotary(c) else "BaichuanAttention",
        W_pack=Linear(h, 3 * h, bias=False, kind="qkv"),
        o_proj=Linear(h, h, bias=False, kind="output"),
        rotary_emb=rotary if _rotary(c) else None,  # in the first 7B's files
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    inner = c.dim("intermediate_size", default=11008)
    return Module(
        "DecoderLayer" if _rotary(c) else "BaichuanLayer",
        self_attn=attention(c),
        mlp=gated_mlp("MLP", _hidden(c), inner, act=c.text("hidden_act", default="silu")),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def _vocab(c: ModelConfig) -> Dim:
    # 64,000 in the first version and 125,696 in the second: nothing else shows an absent one.
    return c.dim("vocab_size")


def model(c: ModelConfig) -> Module:
    return Module(
        "BaichuanModel",
        embed_tokens=Embedding(_vocab(c), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
    )


def causal_lm(name: str) -> Builder:
    def build(c: ModelConfig) -> Module:
        tied_to = "model.embed_tokens.weight"
        head = lm_head(c, _hidden(c), _vocab(c), tied_to=tied_to, tied_default=False)
        if c.has("z_loss_weight"):
            head.class_name = "NormHead"
        return Module(name, model=model(c), lm_head=head)

    return build


register(
    "baichuan",
    {
        "BaichuanForCausalLM": causal_lm("BaichuanForCausalLM"),
        "BaiChuanForCausalLM": causal_lm("BaiChuanForCausalLM"),
        "BaichuanModel": model,
        "BaichuanForSequenceClassification": sequence_classification(
            "BaichuanForSequenceClassification", model, hidden=_hidden
        ),
    },
    base="BaichuanModel",
    base_prefix="model",
    category="text decoder",
    source="modeling_baichuan.py of baichuan-inc/Baichuan-7B, Baichuan-13B-Base, Baichuan2-7B-Base",
)
