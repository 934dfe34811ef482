"""Solar Pro preview (Upstage 2024). No class in transformers. Source of shapes: modeling_solar.py
in upstage/solar-pro-preview-instruct. Llama's layers; what is added across layers (``bskcn``) has
no weights."""

from ..layers.decoders import SEQUENCE_HEAD
from .llama import ORIGINAL

ORIGINAL.like("Solar", endings=SEQUENCE_HEAD).register(
    "solar", source="modeling_solar.py of upstage/solar-pro-preview-instruct"
)
