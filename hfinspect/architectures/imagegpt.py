"""ImageGPT (Chen et al. 2020). Source of shapes: transformers/models/imagegpt.

GPT-2 (gpt2.py) over colours, with norms that only scale; the head does not write the token that
begins an image.
"""

from ..core.config import ModelConfig
from ..layers.composing import renamed, with_defaults
from ..layers.heads import classifier, to_words
from ..trees.catalog import register
from ..trees.modules import Module, each_module
from . import gpt2

_NAME = "ImageGPT"
_DEFAULTS = {
    "vocab_size": 513, "n_positions": 1024, "n_embd": 512, "n_layer": 24, "n_head": 8,
    "activation_function": "quick_gelu",
}  # fmt: skip
_SYNONYMS = {
    "hidden_size": "n_embd", "max_position_embeddings": "n_positions",
    "num_attention_heads": "n_head", "num_hidden_layers": "n_layer",
}  # fmt: skip


def model(c: ModelConfig) -> Module:
    built = renamed(gpt2.model(c), "GPT2", _NAME)
    for module in each_module(built):
        if module.class_name == "LayerNorm":
            module.children.pop("bias", None)
            module.class_name, module.detail = f"{_NAME}LayerNorm", ""
    built.part = "vision"
    return built


def causal(c: ModelConfig) -> Module:
    words, tied = c.dim("vocab_size"), c.tied(default=False)
    # Tied, it is the table itself, that token included.
    table = "transformer.wte.weight" if tied else None
    head = to_words(c.dim("n_embd"), words if tied else words - 1, table)
    return Module(f"{_NAME}ForCausalImageModeling", transformer=model(c), lm_head=head)


def image_classification(c: ModelConfig) -> Module:
    score = classifier(c.dim("n_embd"), c.num_labels, bias=False)
    return Module(f"{_NAME}ForImageClassification", transformer=model(c), score=score)


_CLASSES = {
    f"{_NAME}ForCausalImageModeling": causal, f"{_NAME}Model": model,
    f"{_NAME}ForImageClassification": image_classification,
}  # fmt: skip
register(
    "imagegpt",
    with_defaults(_DEFAULTS, _CLASSES, synonyms=_SYNONYMS),
    base_prefix="transformer",
    category="vision",
)
