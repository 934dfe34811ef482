"""DeepSeek-V3.2 (DeepSeek-AI 2025). Source of shapes: transformers/models/deepseek_v32.

DeepSeek-V3 with sparse attention: an indexer of its own small heads picks the keys to attend to.
"""

from __future__ import annotations

from functools import partial

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.heads import decoder_classes
from ..layers.latent import Latent, latent_attention, latent_sizes
from ..layers.latent_decoders import Variant, model
from ..trees.catalog import register
from ..trees.keeps import KeysValues
from ..trees.modules import LayerNorm, Linear, Module


def indexer(c: ModelConfig, name: str, hidden: Dim, s: Latent, *, heads: int) -> Module:
    """Scores of the keys from the query's latent: heads·d rows from the latent, one key head."""
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
        keeps=(KeysValues(width, 0, heads=1, name="indexer"),),
    )


def _attention(c: ModelConfig, hidden: Dim, _kind: str) -> Module:
    sizes = latent_sizes(c, heads=128)
    bias = c.flag("attention_bias", default=False)
    block = latent_attention("DeepseekV32", hidden, sizes, bias=bias)
    block.children["indexer"] = indexer(c, "DeepseekV32", hidden, sizes, heads=64)
    return block


_VARIANT = Variant(
    "DeepseekV32",
    _attention,
    vocab=129280,
    hidden=7168,
    dense=18432,
    expert=2048,
    layers=61,
    experts=256,
    per_token=8,
    first=3,
    listed=True,
)

register(
    "deepseek_v32",
    decoder_classes("DeepseekV32", partial(model, _VARIANT), heads=()),
    base="DeepseekV32Model",
    base_prefix="model",
    category="text decoder",
)
