"""Multi-head latent attention (DeepSeek-V2, section 2.1): queries, keys and values pass through
narrow projections, and only a part of each head carries positions.
"""

from __future__ import annotations

from ..core.records import dataclass
from ..trees import Component, Dim, KeysValues, LayerNorm, Linear, ModelConfig, Module, RMSNorm


@dataclass(frozen=True)
class Latent:
    """Sizes of latent attention. ``query_rank`` None: queries are projected directly; a head's
    query and key are ``plain + rotary`` wide, its value ``value``."""

    heads: Dim
    query_rank: Dim | None
    kv_rank: Dim
    plain: Dim
    rotary: Dim
    value: Dim


def latent_sizes(
    c: ModelConfig,
    *,
    heads: int,
    query_rank: int | None = 1536,
    kv_rank: int = 512,
    plain: int = 128,
    rotary: int = 64,
    value: int = 128,
) -> Latent:
    """The sizes in a config; the keywords are the family's defaults.

    A ``q_lora_rank`` that is present and null switches the query's latent off.
    """
    direct = "q_lora_rank" in c.values and c.values["q_lora_rank"] is None
    direct = direct or (query_rank is None and not c.has("q_lora_rank"))
    return Latent(
        heads=c.dim("num_attention_heads", default=heads),
        query_rank=None if direct else c.dim("q_lora_rank", default=query_rank),
        kv_rank=c.dim("kv_lora_rank", default=kv_rank),
        plain=c.dim("qk_nope_head_dim", default=plain, minimum=0),
        rotary=c.dim("qk_rope_head_dim", default=rotary, minimum=0),
        value=c.dim("v_head_dim", default=value),
    )


def latent_attention(name: str, hidden: int, s: Latent, *, bias: bool) -> Module:
    """Multi-head latent attention (DeepSeek-V2, section 2.1). ``bias`` is that of the projections
    from and to the residual stream."""
    width = s.heads * (s.plain + s.rotary)
    if s.query_rank is None:
        queries = {"q_proj": Linear(hidden, width, bias=False, kind="query")}
    else:
        queries = {
            "q_a_proj": Linear(hidden, s.query_rank, bias=bias, kind="query_down"),
            "q_a_layernorm": RMSNorm(s.query_rank, class_name=f"{name}RMSNorm"),
            "q_b_proj": Linear(s.query_rank, width, bias=False, kind="query_up"),
        }
    return Module(
        f"{name}Attention",
        {
            **queries,
            "kv_a_proj_with_mqa": Linear(hidden, s.kv_rank + s.rotary, bias=bias, kind="kv_down"),
            "kv_a_layernorm": RMSNorm(s.kv_rank, class_name=f"{name}RMSNorm"),
            "kv_b_proj": Linear(s.kv_rank, s.heads * (s.plain + s.value), bias=False, kind="kv_up"),
            "o_proj": Linear(s.heads * s.value, hidden, bias=bias, kind="output"),
        },
        component=Component.ATTENTION,
        cache=(KeysValues(s.kv_rank, s.rotary, heads=1, latent=True),),
    )


def indexer(
    c: ModelConfig, name: str, hidden: Dim, s: Latent, *, heads: int, dtype: str | None = None
) -> Module:
    """DeepSeek-V3.2's, of small heads of its own, ``heads`` by default: it scores the keys to
    attend to from the query's latent. ``dtype`` is that of the keys kept."""
    if s.query_rank is None:
        raise c.error("q_lora_rank", None, "a rank, since the indexer reads the query's latent")
    count = c.dim("index_n_heads", default=heads)
    width = c.dim("index_head_dim", default=128)
    return Module(
        f"{name}Indexer",
        wq_b=Linear(s.query_rank, count * width, bias=False),
        wk=Linear(hidden, width, bias=False),
        k_norm=LayerNorm(width, eps=1e-6),
        weights_proj=Linear(hidden, count, bias=False),
        kind="indexer",
        cache=(KeysValues(width, 0, heads=1, name="indexer", dtype=dtype),),
    )
