"""Music Flamingo (Ghosh et al. 2025). Source: transformers/models/musicflamingo.

Audio Flamingo 3 (audioflamingo3.py) with rotary positions over time, which are no tensors.
"""

from .audioflamingo3 import listener

listener("musicflamingo", "MusicFlamingo", tower="AudioFlamingo3")
