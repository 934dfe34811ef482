"""GLM-OCR (Zhipu 2026). Source of shapes: transformers/models/glm_ocr/modeling_glm_ocr.py.

GLM-4.1V (glm4v.py) at a smaller size, without biases in the decoder's attention; the tower, a
trace, has norms on queries and keys, no table of positions and biases in its MLP.
"""

from ..core.config import ModelConfig
from ..layers.blocks import rms_norms
from ..layers.decoders import fused_mlp
from ..layers.multimodal import register_worded
from ..trees.catalog import builder, register_part
from ..trees.modules import Module
from .glm4v import glm_norms
from .llama import LLAMA

_norm = rms_norms("GlmOcrRMSNorm", 1e-5)
_TEXT = LLAMA.like(
    "GlmOcrText", vocab_size=59392, hidden_size=1024, intermediate_size=4096, num_hidden_layers=16,
    num_attention_heads=16, num_key_value_heads=8, attention_bias=None, mlp=fused_mlp,
    layer=glm_norms, norm=lambda _d, c, size: _norm(c, size),
)  # fmt: skip


def base(c: ModelConfig) -> Module:
    return Module(
        "GlmOcrModel",
        visual=builder("GlmOcrVisionModel")(c.section("vision_config")),
        language_model=_TEXT.model(c.section("text_config")),
    )


register_worded("glm_ocr", "GlmOcr", base, tied=False, text_ties=True)
register_part("glm_ocr_text", "GlmOcrTextModel", _TEXT.model, "text decoder")
