"""Hunyuan dense (Tencent 2025; transformers/models/hunyuan_v1_dense): norms of queries and keys."""

from ..layers.decoders import SEQUENCE_HEAD, Decoder, grouped

HUNYUAN = Decoder(
    "HunYuanDenseV1",
    tasks=SEQUENCE_HEAD,
    attention=lambda d, c: grouped(d, c).adding(
        **dict.fromkeys(("query_layernorm", "key_layernorm"), d.norm(d, c, d.heads(c).dim))
    ),
).register("hunyuan_v1_dense")
