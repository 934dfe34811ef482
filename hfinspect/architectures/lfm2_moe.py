"""LFM2-MoE (Liquid AI 2025). Source of shapes: transformers/models/lfm2_moe.

Short convolutions and grouped attention by layer_types; after the first dense layers, experts in
Mixtral's spelling with a bias for balance, a buffer in float32.
"""

from ..core.config import ModelConfig
from ..layers import mixtures as m
from ..layers.decoders import Decoder, norms_called
from ..layers.experts import experts
from ..trees.modules import Module, Parameter
from .lfm2 import LFM2, layer, older_tie, three


def _experts(x: m.Mixture) -> Module:
    expert = three(x.d, x.c, x.inner, expert=True)
    return experts(x.count, x.used, expert, class_name="Lfm2MoeExperts")


def _bias(x: m.Mixture) -> Parameter | None:
    return m.correction(x) if x.c.flag("use_expert_bias", default=True) else None


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[str, str]]:
    dense = int(c.count("num_dense_layers", default=2))
    kinds = c.strings("layer_types", count=layers)  # the class has no default for it
    return [(kind, "dense" if i < dense else "sparse") for i, kind in enumerate(kinds)]


_MOE = LFM2.like(
    "Lfm2Moe", hidden_size=2048, intermediate_size=7168, kinds=_kinds, rotary=False, layer=layer,
    norm=norms_called("Lfm2MoeRMSNorm", "norm_eps"),
    mlp=lambda d, c: three(d, c, d.inner(c), expert=True),
    moe=m.sparse(
        "SparseMoeBlock", {"experts": _experts, "gate": m.scores(), "expert_bias": _bias},
        count=m.counts("num_experts", default=32), used=4, inner=1792,
    ),
)  # fmt: skip
_MOE.register("lfm2_moe", more=older_tie(_MOE))
