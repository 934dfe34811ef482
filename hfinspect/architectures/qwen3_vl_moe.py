"""Qwen3-VL-MoE (Qwen team 2025). Source: transformers/models/qwen3_vl_moe. Files hold the experts
of a layer stacked, out before in; the first release of the weights in before out, and loading takes
both (conversion_mapping.py)."""

from ..layers.layer_kinds import stepped
from ..layers.mixtures import Mixture, counts, scores, sparse, stacked
from ..trees.modules import Activation, Module
from .qwen3_vl import TEXT, register_qwen3_vl

_count = counts("num_experts", "num_local_experts", default=60)


def _experts(m: Mixture) -> Module:
    return stacked()(m).adding(act_fn=Activation("SiLU"))


_TEXT = TEXT.like(
    "Qwen3VLMoeText", hidden_size=2048, intermediate_size=5632, num_hidden_layers=24,
    num_attention_heads=16, num_key_value_heads=16, head_dim=None, kinds=stepped(_count),
    moe=sparse(
        "SparseMoeBlock", {"experts": _experts, "gate": scores()}, count=_count, used=4, inner=1408,
    ),
)  # fmt: skip
register_qwen3_vl("Qwen3VLMoe", "qwen3_vl_moe", _TEXT)
