"""Emu3's text model (BAAI 2024; transformers/models/emu3): its words are also codes of images."""

from functools import partial

from ..layers.heads import register_tower
from .llama import LLAMA

EMU3 = LLAMA.like(
    "Emu3", vocab_size=184622, intermediate_size=14336, num_key_value_heads=8, rms_norm_eps=1e-5
)
model = partial(EMU3.named, "Emu3TextModel")
register_tower("emu3_text_model", "Emu3", model)
