"""Emu3's text model (BAAI 2024). Source of shapes: transformers/models/emu3/modeling_emu3.py.

A Llama-like decoder whose words are also the codes of images.
"""

from ..core.config import ModelConfig
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.modules import Module
from .llama import LLAMA

EMU3 = LLAMA.like(
    "Emu3", vocab_size=184622, intermediate_size=14336, num_key_value_heads=8, rms_norm_eps=1e-5,
)  # fmt: skip


def model(c: ModelConfig) -> Module:
    base = EMU3.model(c)
    base.class_name = "Emu3TextModel"
    return base


register(
    "emu3_text_model",
    {"Emu3ForCausalLM": causal_lm("Emu3ForCausalLM", model), "Emu3TextModel": model},
    base_prefix="model",
    category="text decoder",
)
