"""LFM2-MoE (Liquid AI 2025; transformers/models/lfm2_moe)."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder, norms_called
from ..layers.experts import experts
from ..trees import ModelConfig, Module
from .lfm2 import LFM2, older_tie, three


def _experts(x: m.Mixture) -> Module:
    expert = three(x.d, x.c, x.inner, expert=True)
    return experts(x.count, x.used, expert, class_name="Lfm2MoeExperts")


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[str, str]]:
    dense = int(c.count("num_dense_layers", default=2))
    kinds = c.strings("layer_types", count=layers)  # the class has no default for it
    return [(kind, "dense" if i < dense else "sparse") for i, kind in enumerate(kinds)]


_MOE = LFM2.like(
    "Lfm2Moe",
    hidden_size=2048,
    intermediate_size=7168,
    kinds=_kinds,
    rotary=False,
    norm=norms_called("Lfm2MoeRMSNorm", "norm_eps"),
    mlp=lambda d, c: three(d, c, d.inner(c), expert=True),
    moe=m.sparse(
        "SparseMoeBlock",
        {
            "experts": _experts,
            "gate": m.scores(),
            "expert_bias": lambda x: (
                m.correction(x) if x.c.flag("use_expert_bias", default=True) else None
            ),
        },
        count=m.counts("num_experts", default=32),
        used=4,
        inner=1792,
    ),
)
_MOE.register("lfm2_moe", more=older_tie(_MOE))
