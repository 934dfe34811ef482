"""Inkling 2 Loop with Inkling 2's tower (2026; transformers/models/inkling2_loop)."""

from . import inkling2_loop_text
from .inkling2 import register_whole

register_whole("inkling2_loop", "Inkling2Loop", inkling2_loop_text, 2304)
