"""Trinity (Arcee AI 2025; transformers/models/afmoe). Norms of queries and keys, a gate on
attention, four norms a layer; experts, some shared, after ``num_dense_layers``."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder, adding, arranged, attends, feeds, gate, grouped, normed
from ..layers.latent_decoders import dense_first
from ..layers.windows import every, windows
from ..trees import Component, Weight

Decoder(
    "Afmoe",
    qk_norm=True,
    tasks=(),
    windows=lambda c: windows(c, 1024, every(int(c.dim("global_attn_every_n_layers", default=4)))),
    kinds=dense_first(1, key="num_dense_layers"),
    attention=adding(grouped, gate_proj=gate),
    layer=arranged(
        self_attn=attends,
        input_layernorm=normed,
        post_attention_layernorm=normed,
        pre_mlp_layernorm=normed,
        post_mlp_layernorm=normed,
        mlp=feeds,
    ),
    moe=m.sparse(
        "SparseMoeBlock",
        {
            "router": m.scored_by("TokenChoiceRouter", "gate"),
            "shared_experts": m.always,
            "experts": m.each,
            "expert_bias": lambda x: Weight(x.count, component=Component.ROUTER),
        },
        count=m.counts("num_experts", default=64, minimum=1),
        empty=True,
        used=m.counts("num_experts_per_tok", default=6),
        inner=1408,
        shared=m.several("num_shared_experts", default=2),
    ),
).register("afmoe")
