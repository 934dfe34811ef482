"""Solar Pro preview (Upstage 2024): Llama; what is added across layers (``bskcn``) has no weights.
No class in transformers. Source: modeling_solar.py in upstage/solar-pro-preview-instruct."""

from ..layers.decoders import SEQUENCE_HEAD
from .llama import ORIGINAL

ORIGINAL.like("Solar", tasks=SEQUENCE_HEAD).register(
    "solar", source="modeling_solar.py of upstage/solar-pro-preview-instruct"
)
