"""Youtu-LLM (Tencent 2025; transformers/models/youtu): latent attention, dense MLPs."""

from ..layers.decoders import Decoder
from ..layers.latent_decoders import latent

Decoder("Youtu", rotary=False, tasks=(), attention=latent()).register("youtu")
