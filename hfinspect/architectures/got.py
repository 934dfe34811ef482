"""GOT-OCR 2.0 as released (Wei et al. 2024); transformers' ``got_ocr2`` is the converted form."""

from ..layers.heads import register_decoder
from ..layers.multimodal import linear_projector
from ..trees import ModelConfig, Module
from .deepseek_ocr import sam_model
from .qwen2 import QWEN2


def model(c: ModelConfig) -> Module:
    base = QWEN2.named("GOTQwenModel", c)
    projector = linear_projector(1024, QWEN2.width(c))
    return base.adding(vision_tower_high=sam_model(), mm_projector_vary=projector)


_SOURCE = "modeling_GOT.py and got_vision_b.py of stepfun-ai/GOT-OCR2_0"
register_decoder("GOT", "GOTQwen", model, heads=(), category="multimodal", source=_SOURCE)
