"""XLM-RoBERTa (Conneau et al. 2019). Source: transformers/models/xlm_roberta.

RoBERTa with a vocabulary of a hundred languages.  Configs of this model_type that bring the code of
``xlm_roberta_flash`` get that file's tensors.
"""

from ..core.config import ModelConfig
from ..layers.encoders import BASE
from ..trees.catalog import Builder, register
from ..trees.modules import Module
from . import xlm_roberta_flash as flash
from .roberta import ROBERTA


def _either(plain: Builder, other: Builder) -> Builder:
    def build(c: ModelConfig) -> Module:
        return other(c) if flash.is_flash(c) else plain(c)

    return build


_PLAIN = ROBERTA.like("XLMRoberta", "roberta", defaults=BASE).classes()

register(
    "xlm-roberta",
    {
        name: _either(build, flash.CLASSES[name]) if name in flash.CLASSES else build
        for name, build in _PLAIN.items()
    },
    base_prefix="roberta",
    category="encoder",
)
