"""Sarvam-30B (Sarvam AI 2026; transformers/models/sarvam_moe): GLM-4.5's own classes with other
sizes. Its files have the names of the first release: queries, keys and values are one matrix."""

from ..layers import mixtures as m
from ..layers.composing import respelled
from ..layers.decoders import Decoder, mixed
from ..layers.latent_decoders import dense_first, expert_count
from ..trees import Component, Linear, ModelConfig, Module, config_defaults


def _attention(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    heads = d.heads(c)
    normed = c.flag("use_qk_norm", default=True)
    bias = c.flag("attention_bias", "use_qkv_bias", default=False)
    return Module(
        "Glm4MoeAttention",
        query_key_value=Linear(h, (heads.query + 2 * heads.kv) * heads.dim, bias=bias, kind="qkv"),
        dense=Linear(heads.query * heads.dim, h, bias=False, kind="output"),
        query_layernorm=d.norm(d, c, heads.dim) if normed else None,
        key_layernorm=d.norm(d, c, heads.dim) if normed else None,
        component=Component.ATTENTION,
    )


_BIAS = {"e_score_correction_bias": "expert_bias"}
_GLM = Decoder(
    "Glm4Moe",
    **config_defaults("sarvam_moe"),
    table="word_embeddings",
    rotary=False,
    tasks=(),
    attention=_attention,
    layer=lambda d, c, kind: mixed(d, c, d.attention(d, c), kind, self_attn="attention"),
    kinds=dense_first(1),
    predicts="sparse",
    moe=m.sparse(
        "MoE",
        {**m.DEEPSEEK, "gate": lambda x: respelled(m.corrected()(x), _BIAS)},
        count=lambda c: expert_count(c, 128),
        used=6,
        inner=1024,
        shared=m.deepseek_shared,
    ),
)
# Saved without a head, the table keeps its name in memory.
_ALONE = _GLM.like("Glm4Moe", table="embed_tokens")
_GLM.register("sarvam_moe", more={"Glm4MoeModel": _ALONE.model})
