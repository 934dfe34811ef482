"""Qwen3.5 with experts (Qwen team 2026). Source: transformers/models/qwen3_5_moe.

Qwen3.5's towers; every layer has routed experts and a gated shared one.
"""

from functools import partial

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.experts import sparse_block
from ..trees.catalog import register, register_part
from ..trees.modules import Module
from .qwen3_5 import Variant, composite_classes, text_classes, vision_model


def _sparse(c: ModelConfig, hidden: Dim) -> Module:
    return sparse_block(
        "Qwen3_5Moe",
        hidden,
        c.dim("moe_intermediate_size", default=512),
        count=c.count("num_experts", default=256),
        per_token=c.dim("num_experts_per_tok", default=8),
        shared=c.dim("shared_expert_intermediate_size", default=512),
        act=c.text("hidden_act", default="silu"),
    )


SPARSE = Variant("Qwen3_5Moe", hidden=2048, layers=40, kv=2, mlp=_sparse)

register(
    "qwen3_5_moe_text",
    text_classes(SPARSE),
    base_prefix="model",
    aliases={"model.language_model.": "model."},
    category="text decoder",
)

register_part(
    "qwen3_5_moe_vision", "Qwen3_5MoeVisionModel", partial(vision_model, "Qwen3_5Moe"), "vision"
)

register("qwen3_5_moe", composite_classes(SPARSE), base_prefix="model", category="multimodal")
