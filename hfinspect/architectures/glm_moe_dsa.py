"""GLM-5 (Zhipu AI 2026; transformers/models/glm_moe_dsa). DeepSeek-V3.2's latent and sparse
attention; layers of the type ``shared`` reuse the choice of an earlier layer's indexer."""

from collections.abc import Sequence

from ..core.config import ModelConfig
from ..layers.blocks import layer_types
from ..layers.decoders import Decoder, mixed
from ..layers.latent_decoders import dense_first, latent, routed
from ..layers.layer_kinds import side_by_side

_LETTERS = {"F": "full", "S": "shared"}


def indexer_types(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
    """indexer_types, else index_topk_pattern ("FSSF", or a list of words), else ``full`` in every
    index_topk_freq-th layer from index_skip_topk_offset on. Raises ConfigError for another word,
    letter or length."""
    key = "indexer_types"
    pattern = c.raw("index_topk_pattern")
    if not c.has(key) and isinstance(pattern, str):
        types: Sequence[str] = [_LETTERS.get(letter, letter) for letter in pattern]
        if len(types) != layers:
            raise c.error("index_topk_pattern", pattern, f"a letter for each of {layers} layers")
    elif not c.has(key) and pattern is not None:
        types = layer_types(c, layers, lambda _: "full", key="index_topk_pattern")
    else:
        every = max(int(c.dim("index_topk_freq", default=1, minimum=0)), 1)
        offset = int(c.dim("index_skip_topk_offset", default=2, minimum=0))
        types = layer_types(
            c, layers, lambda i: "shared" if max(i - offset + 1, 0) % every else "full", key=key
        )
    for kind in types:
        if kind not in _LETTERS.values():
            raise c.error(key, kind, "full or shared")
    return types


_SIZES = {"query_rank": 2048, "plain": 192, "value": 256}
_INDEXED = latent(seeks=32, **_SIZES)

Decoder(
    "GlmMoeDsa",
    rotary=False,
    tasks=(),
    attention=latent(**_SIZES),
    moe=routed(2048, 256, 8, rerouted=True),
    predicts=("sparse", "full"),
    kinds=side_by_side(dense_first(3, listed=True), indexer_types),
    layer=lambda d, c, kind: mixed(d, c, (_INDEXED if "full" in kind else d.attention)(d, c), kind),
).register("glm_moe_dsa")
