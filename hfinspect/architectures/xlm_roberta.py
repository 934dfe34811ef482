"""XLM-RoBERTa (Conneau et al. 2019): RoBERTa for a hundred languages. Configs that bring the code
of ``xlm_roberta_flash`` get that file's tensors (transformers/models/xlm_roberta)."""

from ..layers.composing import either
from ..layers.encoders import BASE
from ..trees.catalog import register
from .roberta import ROBERTA

_FLASH = "xlm-roberta-flash"
_PLAIN = ROBERTA.like("XLMRoberta", "roberta", defaults=BASE).classes()
_CLASSES = either(_PLAIN, _FLASH, lambda c: c.brings(_FLASH) or c.has("lora_adaptations"))
register("xlm-roberta", _CLASSES, base_prefix="roberta", category="encoder")
