"""Qwen3-VL-MoE (Qwen team 2025; transformers/models/qwen3_vl_moe). Files hold a layer's experts
stacked, out before in; the first release had in before out, and loading takes both."""

from ..layers.layer_kinds import stepped
from ..layers.mixtures import counts, scores, sparse, stacked
from ..trees import config_defaults
from ..trees.modules import Activation
from .qwen3_vl import TEXT, register_qwen3_vl

_count = counts("num_experts", "num_local_experts", default=60)
_stack = stacked()
_TEXT = TEXT.like(
    "Qwen3VLMoeText",
    **config_defaults("qwen3_vl_moe"),
    kinds=stepped(_count),
    moe=sparse(
        "SparseMoeBlock",
        {"experts": lambda m: _stack(m).adding(act_fn=Activation("SiLU")), "gate": scores()},
        count=_count,
        used=4,
        inner=1408,
    ),
)
register_qwen3_vl("Qwen3VLMoe", "qwen3_vl_moe", _TEXT)
