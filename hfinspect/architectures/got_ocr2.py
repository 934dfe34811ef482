"""GOT-OCR 2 (Wei et al. 2024). Source of shapes: transformers/models/got_ocr2/modeling_got_ocr2.py.

SAM's image encoder (attention in windows, relative positions), two strided convolutions and a
projection, and Qwen2. Files keep the layout in which the language model is a causal LM of its own.
"""

from functools import partial
from typing import Any

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.heads import lm_head
from ..layers.multimodal import LLAVA_ALIASES
from ..trees.catalog import auto_model, register, register_part
from ..trees.modules import Conv, Linear, Module
from . import sam

#: What the config class sets where the text section is left out.
_TEXT: dict[str, Any] = {
    "model_type": "qwen2",
    "vocab_size": 151860,
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
}


vision_model = partial(sam.encoder_of, "GotOcr2")


def projector(c: ModelConfig, h: int) -> Module:
    out = c.section("vision_config").dim("output_channels", default=256)
    return Module(
        "GotOcr2MultiModalProjector",
        conv_upsampler1=Conv(out, out * 2, 3, stride=2, bias=False, component=None),
        conv_upsampler2=Conv(out * 2, h, 3, stride=2, bias=False, component=None),
        multimodal_projector=Linear(h, h),
        component=Component.PROJECTOR,
        part="projector",
    )


def _parts(c: ModelConfig, *, headed: bool = False) -> dict[str, Module]:
    language = auto_model(c.section("text_config", default=_TEXT), default_type="qwen2")
    table = language.inside("embed_tokens")
    weight = table["weight"]
    assert not isinstance(weight, Module)
    vocab, h = weight.shape
    tied_to = "language_model.model.embed_tokens.weight"
    head = lm_head(c, h, vocab, tied_to=tied_to) if headed else None
    return {
        "vision_tower": vision_model(c.section("vision_config")),
        "multi_modal_projector": projector(c, h),
        "language_model": Module("Qwen2ForCausalLM", model=language, lm_head=head),
    }


def model(c: ModelConfig) -> Module:
    return Module("GotOcr2Model", dict(_parts(c)))


def conditional_generation(c: ModelConfig) -> Module:
    return Module("GotOcr2ForConditionalGeneration", dict(_parts(c, headed=True)))


register(
    ("got_ocr2", "pp_chart2table"),
    {"GotOcr2ForConditionalGeneration": conditional_generation, "GotOcr2Model": model},
    aliases=LLAVA_ALIASES,
    category="multimodal",
)
register_part("got_ocr2_vision", "GotOcr2VisionEncoder", vision_model, "vision")
