"""Baichuan 7B and 13B, Baichuan2 (Yang et al. 2023). No class in transformers. Source of shapes:
modeling_baichuan.py in baichuan-inc/Baichuan-7B, Baichuan-13B-Base and Baichuan2-7B-Base.

Llama's block with q, k and v in one matrix ``W_pack``. The 13B models have ALiBi positions and no
max_position_embeddings; Baichuan2's head is a normalised matrix of the same shape.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import gated_mlp, rms_norms
from ..layers.decoders import SEQUENCE_HEAD, Decoder, pre_norm
from ..layers.heads import causal_lm
from ..trees.catalog import Builder
from ..trees.modules import Buffer, Linear, Module
from .llama import LLAMA

_norms = rms_norms("RMSNorm", 1e-6)


def _rotary(c: ModelConfig) -> bool:
    return c.has("max_position_embeddings") and not c.has("alibi_bias_max")


def _attention(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
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


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block = pre_norm(d, c, kind)
    block.class_name = "DecoderLayer" if _rotary(c) else "BaichuanLayer"
    return block


_BAICHUAN = LLAMA.like(
    "Baichuan",
    # 64,000 in the first version and 125,696 in the second: nothing else shows an absent one.
    vocab_size=None, mlp_bias=None, rotary=False, endings=SEQUENCE_HEAD, attention=_attention,
    norm=lambda _d, c, size: _norms(c, size), layer=_layer,
    mlp=lambda d, c: gated_mlp("MLP", d.width(c), d.inner(c), act=d.act(c)),
)  # fmt: skip


def _causal_lm(name: str) -> Builder:
    def build(c: ModelConfig) -> Module:
        root = causal_lm(name, _BAICHUAN.model)(c)
        if c.has("z_loss_weight"):
            root.inside("lm_head").class_name = "NormHead"
        return root

    return build


_BAICHUAN.register(
    "baichuan",
    more={name: _causal_lm(name) for name in ("BaichuanForCausalLM", "BaiChuanForCausalLM")},
    source="modeling_baichuan.py of baichuan-inc/Baichuan-7B, Baichuan-13B-Base, Baichuan2-7B-Base",
)
