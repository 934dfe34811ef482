"""FlexOlmo (Shi et al. 2025; transformers/models/flex_olmo): OLMo 2's layer with experts."""

from ..layers import mixtures as m
from .olmo2 import OLMO2

OLMO2.like(
    "FlexOlmo",
    tasks=(),
    moe=m.sparse(
        "SparseMoeBlock",
        {"gate": m.scores(), "experts": m.each},
        count=m.counts("num_experts", "num_local_experts", default=7, minimum=1),
        used=m.counts("num_experts_per_tok", default=5),
    ),
).register("flex_olmo")
