"""Hunyuan dense (Tencent 2025; transformers/models/hunyuan_v1_dense). A Llama-like decoder with
norms of queries and keys."""

from ..layers.decoders import SEQUENCE_HEAD, Decoder, grouped
from ..trees import ModelConfig, Module
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    block = grouped(d, c)
    for name in ("query_layernorm", "key_layernorm"):
        block.children[name] = d.norm(d, c, d.heads(c).dim)
    return block


HUNYUAN = LLAMA.like(
    "HunYuanDenseV1", vocab_size=290943, rms_norm_eps=1e-05, mlp_bias=None, endings=SEQUENCE_HEAD,
    attention=_attention,
).register("hunyuan_v1_dense")  # fmt: skip
