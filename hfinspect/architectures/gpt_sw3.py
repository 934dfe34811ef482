"""GPT-SW3 (AI Sweden 2023). transformers builds it with GPT-2's classes."""

from ..trees.catalog import find_type, register

_GPT2 = find_type("gpt2")
assert _GPT2 is not None

register(
    "gpt-sw3",
    _GPT2.classes,
    base=_GPT2.base,
    base_prefix=_GPT2.base_prefix,
    category=_GPT2.category,
)
