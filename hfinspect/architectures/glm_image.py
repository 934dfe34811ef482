"""GLM-Image's autoregressive half (Zhipu 2026). Source of shapes: transformers/models/glm_image.

A ViT whose patches become codes of a table (two traces), and GLM-4's decoder, whose head knows
only the codes.
"""

from ..core.config import ModelConfig
from ..layers.blocks import rms_norms
from ..layers.decoders import fused_mlp
from ..layers.heads import to_words
from ..trees.catalog import builder, register_pair, register_part
from ..trees.modules import Module
from .glm4v import glm_norms
from .llama import LLAMA

_NAME = "GlmImage"
_norm = rms_norms(f"{_NAME}RMSNorm", 1e-5)
_TEXT = LLAMA.like(
    f"{_NAME}Text", vocab_size=168064, intermediate_size=13696, num_hidden_layers=40,
    num_key_value_heads=2, attention_bias=True, out_bias=False, mlp=fused_mlp, layer=glm_norms,
    norm=lambda _d, c, size: _norm(c, size),
)  # fmt: skip


def base(c: ModelConfig) -> Module:
    return Module(
        f"{_NAME}Model",
        visual=builder(f"{_NAME}VisionModel")(c.section("vision_config")),
        language_model=_TEXT.model(c.section("text_config")),
        vqmodel=builder(f"{_NAME}VQVAE")(c.section("vq_config")),
    )


def generation(c: ModelConfig) -> Module:
    text = c.section("text_config")
    codes = text.dim("vision_vocab_size", default=16512)
    head = to_words(text.dim("hidden_size", default=4096), codes)
    return Module(f"{_NAME}ForConditionalGeneration", model=base(c), lm_head=head)


register_pair("glm_image", _NAME, generation, base, "multimodal")
register_part("glm_image_text", f"{_NAME}TextModel", _TEXT.model, "text decoder")
