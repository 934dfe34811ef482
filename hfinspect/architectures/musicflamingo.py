"""Music Flamingo (Ghosh et al. 2025). Source: transformers/models/musicflamingo.

Audio Flamingo 3 (audioflamingo3.py) with rotary positions over time, which are no tensors.
"""

from ..layers.whisper_encoder import width
from .voxtral import Listener, register_listener

register_listener(
    Listener(
        "MusicFlamingo",
        "musicflamingo",
        "qwen2",
        width,
        lambda c: c.flag("projector_bias", default=True),
        {},
        tower="AudioFlamingo3",
    )
)
