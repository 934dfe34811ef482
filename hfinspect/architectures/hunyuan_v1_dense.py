"""Hunyuan dense (Tencent 2025; transformers/models/hunyuan_v1_dense): norms of queries and keys."""

from ..layers.decoders import SEQUENCE_HEAD, Decoder, grouped
from ..trees import ModelConfig, Module


def _attention(d: Decoder, c: ModelConfig) -> Module:
    norm = d.norm(d, c, d.heads(c).dim)
    return grouped(d, c).adding(query_layernorm=norm, key_layernorm=norm)


HUNYUAN = Decoder(
    "HunYuanDenseV1", vocab_size=290943, rms_norm_eps=1e-05, endings=SEQUENCE_HEAD,
    attention=_attention,
).register("hunyuan_v1_dense")  # fmt: skip
