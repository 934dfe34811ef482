"""Baichuan 7B and 13B, Baichuan2 (Yang et al. 2023): Llama's block with q, k and v in one matrix;
the 13B models have ALiBi and no max_position_embeddings, Baichuan2 normalises its head."""

from ..layers.blocks import fused_attention
from ..layers.composing import changed
from ..layers.decoders import SEQUENCE_HEAD, Decoder, gated, norms_called, pre_norm
from ..layers.heads import causal_lm
from ..trees import Buffer, ModelConfig, Module


def _rotary(c: ModelConfig) -> bool:
    return c.has("max_position_embeddings") and not c.has("alibi_bias_max")


def _attention(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    head = c.divided(h, d.size(c, key := "num_attention_heads"), "hidden_size", key)
    # In the first 7B's files.
    rotary = Module("RotaryEmbedding", inv_freq=Buffer(head // 2, dtype="F32", saved=False))
    return fused_attention(
        "Attention" if _rotary(c) else "BaichuanAttention",
        h,
        bias=False,
        out_bias=False,
        qkv="W_pack",
        out="o_proj",
        rotary_emb=rotary if _rotary(c) else None,
    )


# 64,000 words in the first version and 125,696 in the second: nothing else shows an absent number.
_BAICHUAN = Decoder(
    "Baichuan",
    vocab_size=None,
    rotary=False,
    tasks=SEQUENCE_HEAD,
    attention=_attention,
    norm=norms_called("RMSNorm"),
    mlp=lambda d, c: gated(d.like(""), c),
    layer=lambda d, c, kind: pre_norm(d, c, kind).called(
        "DecoderLayer" if _rotary(c) else "BaichuanLayer"
    ),
)
_NAMES = "BaichuanForCausalLM", "BaiChuanForCausalLM"
_BAICHUAN.register(
    "baichuan",
    more=changed(
        {name: causal_lm(name, _BAICHUAN.model) for name in _NAMES},
        lambda c, root: c.has("z_loss_weight") and root.inside("lm_head").called("NormHead"),
    ),
    source="modeling_baichuan.py of baichuan-inc/Baichuan-7B, Baichuan-13B-Base, Baichuan2-7B-Base",
)
