"""Cohere Command R (2024; transformers/models/cohere). Attention and MLP run side by side on one
norm, which has no bias. Command R+ also norms queries and keys per head."""

from ..layers.decoders import Decoder, adding, grouped, pre_norm
from ..trees import Component, ModelConfig, Module, Weight


def norm(d: Decoder, _c: ModelConfig, *shape: int) -> Module:
    return Module(f"{d.name}LayerNorm", weight=Weight(*shape), component=Component.NORM)


def _attention(d: Decoder, c: ModelConfig) -> Module:
    block = grouped(d, c)
    heads = d.heads(c)
    if not c.flag("use_qk_norm", default=False):
        return block
    q = norm(d, c, heads.query, heads.dim)
    k = norm(d, c, heads.kv, heads.dim)
    return block.adding(q_norm=q, k_norm=k)


#: One norm, before attention and MLP alike.
parallel = adding(pre_norm, post_attention_layernorm=None)
COHERE = Decoder("Cohere", tasks=(), norm=norm, attention=_attention, layer=parallel).register(
    "cohere"
)
