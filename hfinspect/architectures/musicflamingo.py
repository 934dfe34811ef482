"""Music Flamingo (Ghosh et al. 2025): Audio Flamingo 3 with rotary positions over time, which are
no tensors. Source: transformers/models/musicflamingo."""

from .audioflamingo3 import listener

listener("musicflamingo", "MusicFlamingo")
