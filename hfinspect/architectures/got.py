"""GOT-OCR 2.0 as released (Wei et al. 2024). transformers' ``got_ocr2`` is the converted form.
Source of shapes: modeling_GOT.py and got_vision_b.py in stepfun-ai/GOT-OCR2_0.

Qwen2 with, inside its base model, SAM's ViT-B with two more convolutions and one linear projector;
DeepSeek-OCR has the same tower. Its sizes stand in the model's code.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.heads import lm_head
from ..trees.catalog import register
from ..trees.modules import Linear, Module
from .deepseek_ocr import sam_model
from .qwen2 import QWEN2

#: Channels of the tower's output.
_TOWER = 1024


def model(c: ModelConfig) -> Module:
    base = QWEN2.model(c)
    base.class_name = "GOTQwenModel"
    width = c.dim("hidden_size", default=4096)
    projector = Linear(_TOWER, width, component=Component.PROJECTOR)
    projector.part = "projector"
    base.children |= {"vision_tower_high": sam_model(), "mm_projector_vary": projector}
    return base


def causal_lm(c: ModelConfig) -> Module:
    head = lm_head(
        c, c.dim("hidden_size", default=4096), c.dim("vocab_size", default=151936),
        tied_to="model.embed_tokens.weight", tied_default=False,
    )  # fmt: skip
    return Module("GOTQwenForCausalLM", model=model(c), lm_head=head)


register(
    "GOT",
    {"GOTQwenForCausalLM": causal_lm, "GOTQwenModel": model},
    base_prefix="model",
    category="multimodal",
    source="modeling_GOT.py and got_vision_b.py of stepfun-ai/GOT-OCR2_0",
)
