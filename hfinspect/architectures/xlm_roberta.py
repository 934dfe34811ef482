"""XLM-RoBERTa (Conneau et al. 2019): RoBERTa for a hundred languages. Configs of this model_type
that bring the code of ``xlm_roberta_flash`` get that file's tensors. Source:
transformers/models/xlm_roberta.
"""

from ..layers.composing import either
from ..layers.encoders import BASE
from ..trees.catalog import register
from .roberta import ROBERTA
from .xlm_roberta_flash import CLASSES, is_flash

_PLAIN = ROBERTA.like("XLMRoberta", "roberta", defaults=BASE).classes()
_CLASSES = either(_PLAIN, CLASSES, is_flash)
register("xlm-roberta", _CLASSES, base_prefix="roberta", category="encoder")
