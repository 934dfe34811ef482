"""GLM-OCR (Zhipu 2026): GLM-4.1V at a smaller size, without biases in the decoder's attention.
Source of shapes: transformers/models/glm_ocr/modeling_glm_ocr.py."""

from ..layers.decoders import grouped, norms_called
from ..layers.multimodal import register_worded, seeing
from ..trees import config_defaults
from .glm4v import GLM4V

_TEXT = GLM4V.like(
    "GlmOcrText",
    **config_defaults("glm_ocr"),
    norm=norms_called("GlmOcrRMSNorm"),
    attention=grouped,
    attention_bias=None,
)
_PARTS = seeing("GlmOcrVisionModel", _TEXT.model)
register_worded("glm_ocr", "GlmOcr", _PARTS, tied=False, text_ties=True, alone=_TEXT.model)
