"""FlexOlmo (Shi et al. 2025). Source: transformers/models/flex_olmo/modeling_flex_olmo.py.

OLMo 2's layer with experts in place of the MLP.
"""

from ..layers.experts import sparse_block
from .olmo2 import OLMO2

OLMO2.like(
    "FlexOlmo",
    vocab_size=100352,
    rms_norm_eps=1e-06,
    endings=(),
    moe=lambda d, c: sparse_block(
        d.name,
        d.width(c),
        d.inner(c),
        count=c.count("num_experts", "num_local_experts", default=7, minimum=1),
        per_token=c.count("num_experts_per_tok", default=5),
        shared=None,
        act=d.act(c),
    ),
).register("flex_olmo")
