"""MOSS (Sun et al. 2023). No class in transformers. Source of shapes: modeling_moss.py in
fnlp/moss-moon-003-sft. CodeGen's block to the letter, under class names of its own."""

from ..layers.composing import renamed_classes, with_defaults
from ..trees.catalog import Builder, builder, register


def _built(name: str) -> Builder:
    return lambda c: builder(name)(c)


_CLASSES = {name: _built(name) for name in ("CodeGenForCausalLM", "CodeGenModel")}

register(
    "moss",
    with_defaults({"vocab_size": 107008}, renamed_classes(_CLASSES, "CodeGen", "Moss")),
    base_prefix="transformer",
    category="text decoder",
    source="modeling_moss.py of fnlp/moss-moon-003-sft; checked against transformers' CodeGen",
)
