"""Qwen3-VL (Qwen team 2025). Source of shapes: transformers/models/qwen3_vl/modeling_qwen3_vl.py.
Qwen3's decoder next to a ViT with a table of positions. In addition to the merger at its end,
mergers after some of its layers feed the first layers of the decoder (DeepStack)."""

import copy
from functools import partial

from ..layers.decoders import Decoder
from ..layers.multimodal import register_worded, seeing, text_section
from ..trees import LayerNorm, ModelConfig, Module, ModuleList, config_defaults, register_part
from . import qwen3_5
from .llama import LLAMA


def vision_model(name: str, c: ModelConfig) -> Module:
    """Qwen3.5's tower and further mergers, with norms after the patches are joined, not before."""
    c = c.section("vision_config") if c.has("vision_config") else c
    tower = qwen3_5.vision_model(name, c)
    fed = c.dims("deepstack_visual_indexes", default=(8, 16, 24), minimum=0)
    side = c.dim("spatial_merge_size", default=2)
    after = copy.copy(tower.inside("merger"))
    wide = c.dim("hidden_size", default=1152) * side * side
    after.children = {**after.children, "norm": LayerNorm(wide, eps=1e-6)}
    return tower.adding(deepstack_merger_list=ModuleList([after] * len(fed)))


TEXT = LLAMA.like("Qwen3VLText", **config_defaults("qwen3_vl"), mlp_bias=None, qk_norm=True)


def register_qwen3_vl(name: str, model_type: str, text: Decoder) -> None:
    """The family of a text model."""
    tower = partial(vision_model, name)
    register_worded(
        model_type,
        name,
        seeing(tower, text.model),
        tied=False,
        alone=lambda c: text.model(text_section(c)),
    )
    register_part(f"{model_type}_vision", f"{name}VisionModel", tower, "vision")


register_qwen3_vl("Qwen3VL", "qwen3_vl", TEXT)
