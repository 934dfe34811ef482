"""StableLM under its first class (Stability AI 2023). No class in transformers. Source of shapes:
modeling_stablelm_epoch.py in stabilityai/stablelm-3b-4e1t and stablelm-2-1_6b.

The tensors of transformers' StableLM, whose files are the same; only the classes have other names.
"""

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Module
from .stablelm import STABLELM

#: transformers' class -> the Hub's.
_NAMES = {
    "StableLmModel": "StableLMEpochModel",
    "StableLmDecoderLayer": "DecoderLayer",
    "StableLmAttention": "Attention",
    "StableLmMLP": "MLP",
    "StableLmRotaryEmbedding": "RotaryEmbedding",
}


def model(c: ModelConfig) -> Module:
    eps = c.raw("norm_eps", "layer_norm_eps")
    root = STABLELM.model(c.with_defaults(layer_norm_eps=1e-5 if eps is None else eps))
    for old, new in _NAMES.items():
        renamed(root, old, new)
    root.children.pop("rotary_emb", None)
    return root


register(
    "stablelm_epoch",
    decoder_classes("StableLMEpoch", model, heads=()),
    base_prefix="model",
    category="text decoder",
    source="modeling_stablelm_epoch.py of stabilityai/stablelm-3b-4e1t; checked against StableLm",
)
