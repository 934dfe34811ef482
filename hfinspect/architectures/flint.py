"""Flint (transformers/models/flint). Norms of queries and keys and a learned sink per head
(``softmax_offset`` in files); routed and shared experts, dense MLPs in ``mlp_only_layers``."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder, adding, grouped, sink
from ..layers.layer_kinds import stepped
from ..layers.windows import windows

_EXPERTS = m.counts("num_experts", default=256)
Decoder(
    "Flint",
    qk_norm=True,
    tasks=(),
    kinds=stepped(_EXPERTS, 0, 1),
    attention=adding(grouped, softmax_offset=sink),
    moe=m.sparse(
        "SparseMoeBlock",
        {"experts": m.each, "gate": m.scores(), "shared_expert": m.always},
        count=_EXPERTS,
        used=m.counts("num_experts_per_tok", default=6),
        inner=512,
        shared=m.as_wide("shared_expert_intermediate_size", default=1024),
    ),
    windows=lambda c: windows(c, 513, lambda i, n: i < 2 or i % 4 == 1 or i == n - 1),
).register("flint")
