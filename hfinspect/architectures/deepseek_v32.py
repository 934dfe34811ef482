"""DeepSeek-V3.2 (DeepSeek-AI 2025). Source of shapes: transformers/models/deepseek_v32.

DeepSeek-V3 with sparse attention: an indexer of its own small heads picks the keys to attend to.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder
from ..layers.latent import Latent, latent_sizes
from ..layers.latent_decoders import dense_first, latent, routed
from ..trees.keeps import KeysValues
from ..trees.modules import LayerNorm, Linear, Module
from .llama import LLAMA


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


def _attention(d: Decoder, c: ModelConfig) -> Module:
    sizes = latent_sizes(c, heads=128)
    block = latent()(d, c)
    block.children["indexer"] = indexer(c, d.name, d.width(c), sizes, heads=64)
    return block


LLAMA.like(
    "DeepseekV32", vocab_size=129280, hidden_size=7168, intermediate_size=18432,
    num_hidden_layers=61, num_attention_heads=128, mlp_bias=None, rotary=False, endings=(),
    attention=_attention, moe=routed(2048, 256, 8, rerouted=True),
    kinds=dense_first(3, listed=True), predicts="sparse",
).register("deepseek_v32")  # fmt: skip
