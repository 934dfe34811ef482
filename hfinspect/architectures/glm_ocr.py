"""GLM-OCR (Zhipu 2026): GLM-4.1V at a smaller size, without biases in the decoder's attention.
Source of shapes: transformers/models/glm_ocr/modeling_glm_ocr.py."""

from ..layers.decoders import grouped, norms_called
from ..layers.multimodal import register_worded, seeing
from .glm4v import GLM4V

_TEXT = GLM4V.like(
    "GlmOcrText",
    vocab_size=59392,
    hidden_size=1024,
    intermediate_size=4096,
    num_hidden_layers=16,
    num_attention_heads=16,
    num_key_value_heads=8,
    norm=norms_called("GlmOcrRMSNorm"),
    attention=grouped,
    attention_bias=None,
)
_PARTS = seeing("GlmOcrVisionModel", _TEXT.model)
register_worded("glm_ocr", "GlmOcr", _PARTS, tied=False, text_ties=True, alone=_TEXT.model)
