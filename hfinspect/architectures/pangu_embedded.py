"""openPangu Embedded 1B and 7B (Huawei 2025): a block like InternLM's, with grouped keys."""

from functools import partial

from ..layers.decoders import with_frequencies
from .internlm import INTERNLM

INTERNLM.like("PanguEmbedded", tasks=(), attention=partial(with_frequencies, dtype="F32")).register(
    "PanguEmbedded", source="modeling_openpangu_dense.py and the index of openPangu-Embedded-7B"
)
