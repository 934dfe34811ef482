"""OLMo 3 (OLMo Team 2025; transformers/models/olmo3): OLMo 2 with windows."""

from ..layers.windows import every, windows
from .olmo2 import OLMO2

OLMO2.like("Olmo3", windows=lambda c: windows(c, 4096, every(4))).register("olmo3")
