"""Aquila and Aquila2 (BAAI 2023), Skywork-13B (Wei et al. 2023). No classes in transformers. Source
of shapes: modeling_aquila.py in BAAI/AquilaChat2-7B, modeling_skywork.py in
Skywork/Skywork-13B-base.

Both are Llama to the letter, under class names of their own.
"""

from __future__ import annotations

from ..layers.composing import renamed_classes, with_defaults
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from .llama import model

_classes = decoder_classes("Llama", model, heads=("ForSequenceClassification",))

for _type, _name, _defaults in (
    ("aquila", "Aquila", {"vocab_size": 100008}),
    ("skywork", "Skywork", {"vocab_size": 65519, "hidden_size": 4608, "intermediate_size": 12288,
                            "num_hidden_layers": 52, "num_attention_heads": 36}),
):  # fmt: skip
    register(
        _type,
        with_defaults(_defaults, renamed_classes(_classes, "Llama", _name)),
        base=f"{_name}Model",
        base_prefix="model",
        category="text decoder",
        source="modeling_aquila.py of BAAI/AquilaChat2-7B, modeling_skywork.py of Skywork-13B-base",
    )
