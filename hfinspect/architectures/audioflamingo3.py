"""Audio Flamingo 3 (Goel et al. 2025). Source: transformers/models/audioflamingo3.

Whisper's encoder, two linear layers, and a Qwen2 decoder, joined as in voxtral.py.
"""

from ..layers.whisper_encoder import width
from .voxtral import Listener, register_listener

register_listener(
    Listener(
        "AudioFlamingo3",
        "audioflamingo3",
        "qwen2",
        width,
        lambda c: c.flag("projector_bias", default=True),
        {},
    )
)
