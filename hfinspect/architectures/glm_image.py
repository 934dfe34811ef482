"""GLM-Image's autoregressive half (Zhipu 2026): patches become codes of a table (two traces), and
the head of GLM-4's decoder knows only the codes. Source: transformers/models/glm_image."""

from ..layers.blocks import size
from ..layers.decoders import grouped, norms_called
from ..layers.heads import to_words
from ..layers.multimodal import register_worded, seeing, within
from .glm4v import GLM4V

_TEXT = GLM4V.like(
    "GlmImageText",
    vocab_size=168064,
    attention=grouped,
    attention_bias=True,
    out_bias=False,
    norm=norms_called("GlmImageRMSNorm"),
)
_CODES = size("vision_vocab_size", default=16512)
_HEAD = within("text_config", lambda c: to_words(_TEXT.width(c), _CODES(c)))
_PARTS = seeing("GlmImageVisionModel", _TEXT.model)
_PARTS["vqmodel"] = within("vq_config", "GlmImageVQVAE")
register_worded("glm_image", "GlmImage", _PARTS, head=_HEAD, alone=_TEXT.model)
