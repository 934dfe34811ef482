"""Kolibri 1 (2026; transformers/models/kolibri1; names of files:
transformers/conversion_mapping.py). Norms on q and k, and before and after each block; experts in
every layer. Files keep the router's correction, a buffer, apart from the router."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder, arranged, attends, feeds, normed
from ..layers.windows import every, windows
from ..trees import Buffer, Component, ModelConfig, Module

_EXPERTS = m.counts("num_experts", "num_local_experts", default=384)


def _correction(_d: Decoder, c: ModelConfig, _kind: str) -> Module:
    bias = Buffer(_EXPERTS(c), dtype="F32", component=Component.ROUTER)
    router = Module("Kolibri1TopKRouter", expert_bias=bias)
    return Module("Kolibri1SparseMoeBlock", router=router)


Decoder(
    "Kolibri1",
    attention_bias=None,
    qk_norm=True,
    rotary=False,
    windows=lambda c: windows(c, 513, every(5)),
    tasks=(),
    layer=arranged(
        self_attn=attends,
        mlp=feeds,
        moe=_correction,
        input_layernorm=normed,
        post_attention_layernorm=normed,
        post_attn_norm=normed,
        post_ffn_norm=normed,
    ),
    moe=m.sparse(
        "SparseMoeBlock",
        {**m.DEEPSEEK, "gate": m.scores()},
        count=_EXPERTS,
        used=6,
        inner=512,
        shared=m.as_wide("shared_expert_intermediate_size", default=512),
    ),
).register("kolibri1")
