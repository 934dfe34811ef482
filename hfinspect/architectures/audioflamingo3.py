"""Audio Flamingo 3 (Goel et al. 2025). Source: transformers/models/audioflamingo3."""

from functools import partial

from ..layers.whisper_encoder import width
from .voxtral import register_listener

#: What Music Flamingo has as well.
listener = partial(
    register_listener,
    text="qwen2",
    seen=width,
    bias=lambda c: c.flag("projector_bias", default=True),
    text_defaults={},
)
listener("audioflamingo3", "AudioFlamingo3")
