"""MOSS (Sun et al. 2023). No class in transformers. Source of shapes: modeling_moss.py in
fnlp/moss-moon-003-sft. CodeGen's block to the letter, under class names of its own."""

from ..layers.composing import renamed_classes, with_defaults
from ..trees import builder, register

_CLASSES = {name: builder(name) for name in ("CodeGenForCausalLM", "CodeGenModel")}
register(
    "moss",
    with_defaults({"vocab_size": 107008}, renamed_classes(_CLASSES, "CodeGen", "Moss")),
    base_prefix="transformer",
    category="text decoder",
    source="modeling_moss.py of fnlp/moss-moon-003-sft; checked against transformers' CodeGen",
)
